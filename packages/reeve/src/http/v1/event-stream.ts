import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { v1Routes } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { refusal } from '../../model/index.ts'
import { prepareStream, type EventStreams, type Sink } from '../../workload/index.ts'
import type { RawQuery } from '../query.ts'
import { secretOf } from '../pipeline/credentials.ts'
import type { RequestScheduler } from '../pipeline/request-scheduler.ts'
import { routedRoute, type RequestPipeline } from '../pipeline/pipeline.ts'
import { refuseMethod, sendRefusal } from './send.ts'

/** How long a reader that is being cut off has to take what was written to it. */
const LAST_LINES_MS = 40_000

export interface EventStreamHost {
  readonly streams: EventStreams
  readonly pipeline: RequestPipeline
  readonly clock: Clock
  readonly scheduler: RequestScheduler
}

/** Not mounted like other reads: the response has no end and no compression. */
export function mountEventStream(app: FastifyInstance, host: EventStreamHost): void {
  const { path } = v1Routes.streamEvents
  app.post(path, (_request, reply) => refuseMethod(reply, ['GET']))
  const route = routedRoute(v1Routes.streamEvents)
  const onRequest = host.pipeline.stages(() => route)
  app.get(path, { onRequest }, (request, reply) =>
    request.method === 'HEAD' ? refuseMethod(reply, ['GET']) : serveStream(host, request, reply),
  )
}

function serveStream(
  host: EventStreamHost,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  // Fastify's query parser gives texts and arrays of texts.
  const query = request.query as RawQuery
  const indexText = [query['index'] ?? ''].flat()[0] ?? ''
  const fromIndex = Number(indexText)
  if (!/^\d*$/.test(indexText) || !Number.isSafeInteger(fromIndex))
    return sendRefusal(
      reply,
      refusal('invalid-input', `Unable to parse index: "${indexText}" is not a whole number ≥ 0`),
    )
  const ready = prepareStream(host.streams, {
    topics: query['topic'] === undefined ? undefined : [query['topic']].flat(),
    namespace: [query['namespace'] ?? ''].flat()[0] || 'default',
    fromIndex,
    secret: secretOf(request),
    yieldTurn: () => host.scheduler.turn(request.tenant),
  })
  if (!ready.ok) return sendRefusal(reply, ready.error)
  void reply.hijack()
  // No handler after hijack() writes them.
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) reply.raw.setHeader(name, value)
  // Nothing follows a stream on its connection, so that it may close with it.
  reply.raw.shouldKeepAlive = false
  reply.raw.writeHead(200, { 'content-type': 'application/json', 'cache-control': 'no-cache' })
  reply.raw.once('close', ready.value.open(sinkOf(host, reply)))
  return reply
}

function sinkOf(host: EventStreamHost, { raw }: FastifyReply): Sink {
  return {
    write: (text) => void raw.write(text),
    backlogBytes: () => raw.writableLength,
    drained: () =>
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
        host.clock.after(LAST_LINES_MS, () => raw.destroy()),
      )
    },
  }
}
