import type { FastifyInstance } from 'fastify'
import { allowedMethods, findMounted, groupByPath, handle, tracedApi } from '../pipeline/serve.ts'
import { MOUNTED_METHODS } from '../request-method.ts'
import { compileEndpoint, createV2Api, type V2Deps } from './api.ts'
import type { V2Endpoint } from './endpoint.ts'
import { sendV2Error } from './errors.ts'

/** Mounts the endpoints of `/api/v2`. */
export function mountV2(
  app: FastifyInstance,
  host: V2Deps,
  endpoints: readonly V2Endpoint[],
): void {
  const api = tracedApi(host, createV2Api(host))
  for (const [url, ofPath] of groupByPath(endpoints.map(compileEndpoint)))
    app.route({
      method: [...MOUNTED_METHODS],
      url,
      onRequest: host.pipeline.stages((request) => findMounted(ofPath, request)),
      handler: (request, reply) => {
        const mounted = findMounted(ofPath, request)
        // find-my-way returns decoded strings.
        const params = request.params as Readonly<Record<string, string>>
        if (mounted !== undefined) return handle(host, api, mounted, { request, reply, params })
        void reply.header('allow', allowedMethods(ofPath).join(', '))
        sendV2Error(reply, { status: 405, detail: `${request.method} is not supported here` })
      },
    })
}
