import type { IncomingMessage } from 'node:http'
import { errorMessage } from '@reeve/kit/fault.ts'
import {
  formatTraceparent,
  parseTraceparent,
  TRACE_HEADER,
  type Span,
  type Tracer,
} from '@reeve/kit/trace.ts'
import type { FastifyInstance } from 'fastify'
import type { Api, MountedRoute, UseCaseTracing } from './serve.ts'

/** The spans of requests: one for each, below it the time in the queue and the use case. */
export class RequestTracing implements UseCaseTracing {
  readonly #tracer: Tracer
  readonly #spans = new WeakMap<IncomingMessage, Span>()

  constructor(tracer: Tracer) {
    this.#tracer = tracer
  }

  /**
   * Adds the first stage of the pipeline: the span of a request begins with it and ends with its
   * response. A request that is forwarded carries the span as its parent.
   */
  addTo(app: FastifyInstance): void {
    app.addHook('onRequest', (request, reply, done) => {
      const { raw } = request
      const route = request.routeOptions.url ?? 'unknown path'
      const span = this.#tracer.start({
        name: `${request.method} ${route}`,
        parent: parseTraceparent(raw.headers[TRACE_HEADER]),
        kind: 'server',
        attributes: {
          'http.request.method': request.method,
          'http.route': route,
          'url.path': (raw.url ?? '').split('?')[0] ?? '',
          'reeve.request_id': request.id,
        },
      })
      this.#spans.set(raw, span)
      setTraceHeader(raw, formatTraceparent(span.context))
      reply.raw.once('close', () => {
        const { statusCode, writableFinished } = reply.raw
        span.set('http.response.status_code', statusCode)
        const isWhole = writableFinished || statusCode === SWITCHING_PROTOCOLS
        span.end(isWhole ? serverError(statusCode) : 'the caller has gone')
      })
      done()
    })
  }

  /** The same API, its use cases as spans. */
  traced<M extends MountedRoute, C, Q, R>(api: Api<M, C, Q, R>): Api<M, C, Q, R> {
    return {
      ...api,
      run: (mounted, target, body) => {
        const parent = this.#spans.get(target.request.raw)
        const run = (): Promise<void> | undefined => api.run(mounted, target, body)
        if (parent === undefined) return run()
        const span = this.#tracer.start({ name: mounted.route.id, parent: parent.context })
        return this.#tracer.within(span.context, () => endWith(span, run))
      },
    }
  }
}

const SWITCHING_PROTOCOLS = 101

function serverError(status: number): string | undefined {
  return status >= 500 ? `status ${status}` : undefined
}

function endWith(span: Span, run: () => Promise<void> | undefined): Promise<void> | undefined {
  try {
    const running = run()
    if (running === undefined) span.end()
    return running?.then(
      () => span.end(),
      (thrown: unknown) => {
        span.end(errorMessage(thrown))
        throw thrown
      },
    )
  } catch (thrown) {
    span.end(errorMessage(thrown))
    throw thrown
  }
}

/** In both forms of the headers: those who forward a request read the raw ones. */
function setTraceHeader(request: IncomingMessage, value: string): void {
  request.headers[TRACE_HEADER] = value
  const { rawHeaders } = request
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2)
    if (rawHeaders[at]?.toLowerCase() === TRACE_HEADER) rawHeaders.splice(at, 2)
  rawHeaders.push(TRACE_HEADER, value)
}
