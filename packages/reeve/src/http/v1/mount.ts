import type { Route } from '@reeve/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  allowedMethods,
  findMounted,
  groupByPath,
  handle,
  tracedApi,
  type Exchange,
  type RoutesOfPath,
} from '../pipeline/serve.ts'
import { MOUNTED_METHODS } from '../request-method.ts'
import { compileEndpoint, createV1Api, type CompiledRoute } from './api.ts'
import type { Endpoint } from './endpoint.ts'
import type { V1Deps } from './exchange.ts'
import { jobPathSuffix, compileJobPaths, isJobRoute, JOB_PATH } from './job-path.ts'
import { sendMethodNotAllowed, sendResourceNotFound } from './send.ts'

/** Mounts the endpoints of `/v1`. */
export function mountV1(app: FastifyInstance, host: V1Deps, endpoints: readonly Endpoint[]): void {
  const byPath = groupByPath(endpoints.map((one) => compileEndpoint(one, host.aliases)))
  const api = tracedApi(host, createV1Api(host))
  const serve = (ofPath: RoutesOfPath<CompiledRoute>, exchange: Exchange): void => {
    const mounted = findMounted(ofPath, exchange.request)
    if (mounted === undefined) sendMethodNotAllowed(exchange.reply, allowedMethods(ofPath))
    else handle(host, api, mounted, exchange)
  }
  for (const [path, ofPath] of byPath) {
    if (isJobRoute({ path } as Route)) continue // path is all that isJobRoute reads
    app.route({
      method: [...MOUNTED_METHODS],
      url: wildcardPath(path) ?? path,
      onRequest: host.pipeline.stages((request) => findMounted(ofPath, request)),
      handler: (request, reply) => {
        serve(ofPath, { request, reply, params: namedParams(path, paramsOf(request)) })
      },
    })
  }
  mountJobPaths(app, host, byPath, serve)
  for (const url of UNKNOWN_ACTION_PATHS)
    app.route({
      method: [...MOUNTED_METHODS],
      url,
      handler: (_, reply) => sendResourceNotFound(reply),
    })
}

/**
 * An unknown path below these is answered with 404 and a text; other unknown paths with an empty
 * 404.
 */
const UNKNOWN_ACTION_PATHS = [
  '/v1/allocation/:alloc_id/*',
  '/v1/client/allocation/:alloc_id',
  '/v1/client/allocation/:alloc_id/*',
]

/** A parameter that matches the rest of the path, including slashes: paths of variables. */
const WILDCARD_PARAM = '/:path'

function wildcardPath(path: string): string | undefined {
  return path.endsWith(WILDCARD_PARAM) ? `${path.slice(0, -WILDCARD_PARAM.length)}/*` : undefined
}

function namedParams(
  path: string,
  params: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return wildcardPath(path) === undefined ? params : { path: params['*'] ?? '' }
}

function mountJobPaths(
  app: FastifyInstance,
  host: V1Deps,
  byPath: ReadonlyMap<string, RoutesOfPath<CompiledRoute>>,
  serve: (ofPath: RoutesOfPath<CompiledRoute>, exchange: Exchange) => void,
): void {
  const routes = [...byPath.values()].flatMap((ofPath) => [...ofPath.values()])
  const match = compileJobPaths(routes.map((one) => one.route).filter(isJobRoute))
  const matchRoute = (request: FastifyRequest) => {
    const { path, params } = match(jobPathSuffix(request.url))
    const ofPath = byPath.get(path) ?? byPath.get(JOB_PATH) ?? NO_ROUTES
    return { ofPath, params }
  }
  app.route({
    method: [...MOUNTED_METHODS],
    url: '/v1/job/*',
    onRequest: host.pipeline.stages((request) => findMounted(matchRoute(request).ofPath, request)),
    handler: (request, reply) => {
      const { ofPath, params } = matchRoute(request)
      serve(ofPath, { request, reply, params })
    },
  })
}

const NO_ROUTES: RoutesOfPath<CompiledRoute> = new Map()

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  // find-my-way returns decoded strings.
  return request.params as Record<string, string>
}
