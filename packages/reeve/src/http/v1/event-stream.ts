import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { v1Routes } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { refusal } from '../../model/index.ts'
import { prepareStream, type EventStreams, type EventSink } from '../../sessions/index.ts'
import type { RawQuery } from '../query.ts'
import { tokenFrom } from '../pipeline/tenants.ts'
import type { RequestScheduler } from '../pipeline/request-scheduler.ts'
import { routedRoute, type RequestPipeline } from '../pipeline/pipeline.ts'
import { sendMethodNotAllowed, sendV1Error } from './responses.ts'

/** Time that a disconnected reader has to receive the data already written. */
const FLUSH_TIMEOUT_MS = 40_000

interface EventStreamDeps {
  readonly streams: EventStreams
  readonly pipeline: RequestPipeline
  readonly clock: Clock
  readonly scheduler: RequestScheduler
}

/**
 * Mounts the event stream, separately from other reads: its response has no end and no compression.
 */
export function mountEventStream(app: FastifyInstance, host: EventStreamDeps): void {
  const { path } = v1Routes.streamEvents
  app.post(path, (_request, reply) => sendMethodNotAllowed(reply, ['GET']))
  const route = routedRoute(v1Routes.streamEvents)
  const onRequest = host.pipeline.stages(() => route)
  app.get(path, { onRequest }, (request, reply) =>
    request.method === 'HEAD'
      ? sendMethodNotAllowed(reply, ['GET'])
      : serveStream(host, request, reply),
  )
}

function serveStream(
  host: EventStreamDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  // Fastify's query parser returns strings and arrays of strings.
  const query = request.query as RawQuery
  const indexText = [query['index'] ?? ''].flat()[0] ?? ''
  const fromIndex = Number(indexText)
  if (!/^\d*$/.test(indexText) || !Number.isSafeInteger(fromIndex))
    return sendV1Error(
      reply,
      refusal('invalid-input', `Unable to parse index: "${indexText}" is not a whole number ≥ 0`),
    )
  const ready = prepareStream(host.streams, {
    topics: query['topic'] === undefined ? undefined : [query['topic']].flat(),
    namespace: [query['namespace'] ?? ''].flat()[0] || 'default',
    fromIndex,
    secret: tokenFrom(request),
    yieldToEventLoop: () => host.scheduler.waitForTurn(request.tenant),
  })
  if (!ready.ok) return sendV1Error(reply, ready.error)
  void reply.hijack()
  // Fastify does not write the headers after hijack().
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value)
  // No response follows a stream, so the connection closes with it.
  reply.raw.shouldKeepAlive = false
  reply.raw.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache' })
  reply.raw.once('close', ready.value.open(sinkOf(host, reply)))
  return reply
}

function sinkOf(host: EventStreamDeps, { raw }: FastifyReply): EventSink {
  return {
    write: (text) => void raw.write(text),
    backlogBytes: () => raw.writableLength,
    whenDrained: () =>
      new Promise((resolve) => {
        if (!raw.writableNeedDrain || raw.destroyed) return resolve()
        const done = (): void => {
          raw.off('drain', done).off('close', done)
          resolve()
        }
        raw.on('drain', done).on('close', done)
      }),
    end(lastLine) {
      raw.end(lastLine)
      raw.once(
        'close',
        host.clock.after(FLUSH_TIMEOUT_MS, () => raw.destroy()),
      )
    },
  }
}
