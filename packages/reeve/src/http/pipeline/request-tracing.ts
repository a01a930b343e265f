import type { IncomingMessage } from 'node:http'
import { errorMessage } from '@reeve/kit/fault.ts'
import {
  formatTraceparent,
  parseTraceparent,
  TRACE_HEADER,
  type Span,
  type Tracer,
} from '@reeve/kit/trace.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { redactUrl, restoreMethod } from '../request-normalization.ts'
import type { Api, MountedRoute, UseCaseTracing } from './serve.ts'

/** Creates a server span for each request, and a child span for its use case. */
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
      // The pipeline, which restores it too, is a later stage.
      restoreMethod(raw)
      const route = request.routeOptions.url ?? 'unknown path'
      const span = this.#tracer.start({
        name: `${request.method} ${route}`,
        parent: parseTraceparent(raw.headers[TRACE_HEADER]),
        kind: 'server',
        attributes: {
          'http.request.method': request.method,
          'http.route': route,
          'url.path': redactUrl(raw.url ?? '').split('?', 1)[0] ?? '',
          'reeve.request_id': request.id,
        },
      })
      this.#spans.set(raw, span)
      setTraceHeader(raw, formatTraceparent(span.context))
      reply.raw.once('close', () => {
        const { statusCode, writableFinished } = reply.raw
        span.set('http.response.status_code', statusCode)
        span.end(writableFinished ? serverError(statusCode) : 'client disconnected')
      })
      done()
    })
  }

  /** Wraps an API so that each use case is recorded as a span. */
  withTracing<M extends MountedRoute, C, Q, R>(api: Api<M, C, Q, R>): Api<M, C, Q, R> {
    return {
      ...api,
      run: (mounted, target, body) => {
        const parent = this.#spans.get(target.request.raw)
        if (parent === undefined) return api.run(mounted, target, body)
        const run = (): Promise<void> | undefined => {
          const running = api.run(mounted, target, body)
          if (running === undefined) endSpanIfDetached(parent, target.reply)
          return running
        }
        const span = this.#tracer.start({ name: mounted.route.id, parent: parent.context })
        return this.#tracer.within(span.context, () => endSpanAfter(span, run))
      },
    }
  }
}

/**
 * Ends the span of a blocking query whose connection was detached: its response never closes, and
 * the request that is parsed again after the wait has a span of its own.
 */
function endSpanIfDetached(span: Span, { raw }: FastifyReply): void {
  if (raw.socket !== null) return
  span.set('reeve.parked', true)
  span.end()
}

function serverError(status: number): string | undefined {
  return status >= 500 ? `status ${status}` : undefined
}

function endSpanAfter(span: Span, run: () => Promise<void> | undefined): Promise<void> | undefined {
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

/** Sets the header in `headers` and `rawHeaders`; forwarding uses the latter. */
function setTraceHeader(request: IncomingMessage, value: string): void {
  request.headers[TRACE_HEADER] = value
  const { rawHeaders } = request
  for (let at = rawHeaders.length - 2; at >= 0; at -= 2)
    if (rawHeaders[at]?.toLowerCase() === TRACE_HEADER) rawHeaders.splice(at, 2)
  rawHeaders.push(TRACE_HEADER, value)
}
