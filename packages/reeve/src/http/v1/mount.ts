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
import { compileEndpoint, createV1Api, type Mounted } from './api.ts'
import type { Endpoint } from './endpoint.ts'
import type { V1Host } from './exchange.ts'
import { afterJobPrefix, compileJobPaths, isJobRoute, JOB_PREFIX } from './job-path.ts'
import { refuseMethod, refuseResource } from './send.ts'

/** Mounts the endpoints of `/v1`. */
export function mountV1(app: FastifyInstance, host: V1Host, endpoints: readonly Endpoint[]): void {
  const byPath = groupByPath(endpoints.map((one) => compileEndpoint(one, host.aliases)))
  const api = tracedApi(host, createV1Api(host))
  const serve = (ofPath: RoutesOfPath<Mounted>, exchange: Exchange): void => {
    const mounted = findMounted(ofPath, exchange.request)
    if (mounted === undefined) refuseMethod(exchange.reply, allowedMethods(ofPath))
    else handle(host, api, mounted, exchange)
  }
  for (const [path, ofPath] of byPath) {
    if (isJobRoute({ path } as Route)) continue // path is all that isJobRoute reads
    app.route({
      method: [...MOUNTED_METHODS],
      url: restPath(path) ?? path,
      onRequest: host.pipeline.stages((request) => findMounted(ofPath, request)),
      handler: (request, reply) => {
        serve(ofPath, { request, reply, params: namedParams(path, paramsOf(request)) })
      },
    })
  }
  mountJobPaths(app, host, byPath, serve)
  for (const url of UNKNOWN_ACTIONS)
    app.route({ method: [...MOUNTED_METHODS], url, handler: (_, reply) => refuseResource(reply) })
}

/** Below these paths an unknown one is 404 with a text; anywhere else it is an empty 404. */
const UNKNOWN_ACTIONS = [
  '/v1/allocation/:alloc_id/*',
  '/v1/client/allocation/:alloc_id',
  '/v1/client/allocation/:alloc_id/*',
]

/** A parameter that takes the rest of the path, slashes included: paths of variables. */
const REST_PARAM = '/:path'

function restPath(path: string): string | undefined {
  return path.endsWith(REST_PARAM) ? `${path.slice(0, -REST_PARAM.length)}/*` : undefined
}

function namedParams(
  path: string,
  params: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  return restPath(path) === undefined ? params : { path: params['*'] ?? '' }
}

function mountJobPaths(
  app: FastifyInstance,
  host: V1Host,
  byPath: ReadonlyMap<string, RoutesOfPath<Mounted>>,
  serve: (ofPath: RoutesOfPath<Mounted>, exchange: Exchange) => void,
): void {
  const routes = [...byPath.values()].flatMap((ofPath) => [...ofPath.values()])
  const match = compileJobPaths(routes.map((one) => one.route).filter(isJobRoute))
  const matched = (request: FastifyRequest) => {
    const { path, params } = match(afterJobPrefix(request.url))
    const ofPath = byPath.get(path) ?? byPath.get(JOB_PREFIX) ?? NO_ROUTES
    return { ofPath, params }
  }
  app.route({
    method: [...MOUNTED_METHODS],
    url: '/v1/job/*',
    onRequest: host.pipeline.stages((request) => findMounted(matched(request).ofPath, request)),
    handler: (request, reply) => {
      const { ofPath, params } = matched(request)
      serve(ofPath, { request, reply, params })
    },
  })
}

const NO_ROUTES: RoutesOfPath<Mounted> = new Map()

function paramsOf(request: FastifyRequest): Readonly<Record<string, string>> {
  // find-my-way gives decoded strings.
  return request.params as Record<string, string>
}
