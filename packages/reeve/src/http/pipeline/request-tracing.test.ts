import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { TRACE_HEADER, type SpanAttribute, type Tracer } from '@reeve/kit/trace.ts'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { routeAsMounted } from '../request-normalization.ts'
import { RequestTracing } from './request-tracing.ts'
import type { Api, MountedRoute } from './serve.ts'

interface RecordedSpan {
  readonly name: string
  readonly attributes: Record<string, SpanAttribute>
  parentSpanId: string | undefined
  hasEnded: boolean
  error: string | undefined
}

function aTracer() {
  const spans: RecordedSpan[] = []
  const tracer: Tracer = {
    start({ name, parent, attributes }) {
      const span: RecordedSpan = {
        name,
        attributes: { ...attributes },
        parentSpanId: parent?.spanId,
        hasEnded: false,
        error: undefined,
      }
      spans.push(span)
      return {
        context: {
          traceId: parent?.traceId ?? 'f'.repeat(32),
          spanId: String(spans.length).padStart(16, '0'),
          isSampled: true,
        },
        set: (attribute, value) => void (span.attributes[attribute] = value),
        end: (error) => {
          span.hasEnded = true
          span.error = error
        },
      }
    },
    within: (_parent, work) => work(),
    active: undefined,
    during: (_parent, work) => work(),
    current: undefined,
    remember: () => undefined,
    recall: () => undefined,
  }
  return { tracer, spans }
}

type Run = (reply: FastifyReply, request: FastifyRequest) => undefined

/** An application that traces, whose only use case is `run`. */
function aTracedApp(t: TestContext, run: Run) {
  const { tracer, spans } = aTracer()
  const tracing = new RequestTracing(tracer)
  const app = fastify({
    rewriteUrl: (request) => {
      routeAsMounted(request)
      return request.url ?? ''
    },
  })
  t.after(() => app.close())
  app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  tracing.addTo(app)
  // Only `run` is called, which needs nothing but the id of its route.
  const api = tracing.withTracing({
    run: (_mounted: unknown, target: { readonly request: FastifyRequest; reply: FastifyReply }) =>
      run(target.reply, target.request),
  } as unknown as Api<MountedRoute, unknown, unknown, unknown>)
  // As above.
  const mounted = { route: { id: 'useCase' } } as unknown as MountedRoute
  const handler = (request: FastifyRequest, reply: FastifyReply): void =>
    void api.run(mounted, { request, reply, params: {}, caller: {}, query: {} }, {})
  for (const method of ['GET', 'POST'] as const) app.route({ method, url: '/*', handler })
  return { app, spans }
}

const respond: Run = (reply) => void reply.send('')

test('request tracing: a span has the method of the request, not the one that it is routed as', async (t) => {
  const { app, spans } = aTracedApp(t, respond)
  await app.inject({ method: 'DELETE', url: '/v1/job/web' })
  await app.inject({ method: 'HEAD', url: '/v1/jobs' })
  const requests = spans.filter(({ name }) => name !== 'useCase')
  assert.deepEqual(
    requests.map(({ name, attributes }) => [name, attributes['http.request.method']]),
    [
      ['DELETE /*', 'DELETE'],
      ['HEAD /*', 'HEAD'],
    ],
  )
})

const EXPORTED_PATHS = [
  [
    '/api/v2/uploads/configuration-versions/secret?x=1',
    '/api/v2/uploads/configuration-versions/***',
  ],
  ['/api/v2/run-logs/secret', '/api/v2/run-logs/***'],
  ['/v1/jobs?prefix=secret', '/v1/jobs'],
] as const

for (const [url, path] of EXPORTED_PATHS)
  test(`request tracing: ${path} is exported without secrets`, async (t) => {
    const { app, spans } = aTracedApp(t, respond)
    await app.inject({ method: 'PUT', url })
    assert.equal(spans[0]?.attributes['url.path'], path)
  })

test('request tracing: the use case is a child, and both end with the response', async (t) => {
  const { promise: closed, resolve } = Promise.withResolvers<void>()
  const { app, spans } = aTracedApp(t, (reply, request) => {
    assert.match(String(request.raw.headers[TRACE_HEADER]), /^00-f{32}-0{15}1-01$/)
    reply.raw.once('close', resolve)
    void reply.code(503).send('')
  })
  const response = await fetch(`${await app.listen({ host: '127.0.0.1', port: 0 })}/v1/jobs`)
  assert.equal(response.status, 503)
  await closed
  const [request, useCase] = spans
  assert.equal(useCase?.parentSpanId, '1'.padStart(16, '0'))
  assert.deepEqual([useCase?.hasEnded, useCase?.error], [true, undefined])
  assert.deepEqual([request?.hasEnded, request?.error], [true, 'status 503'])
})

test('request tracing: a request whose client disconnects has failed', async (t) => {
  const { app, spans } = aTracedApp(t, (reply) => {
    reply.hijack()
    reply.raw.destroy()
  })
  await assert.rejects(async () => await app.inject('/v1/jobs'))
  assert.equal(spans[0]?.error, 'client disconnected')
})

test('request tracing: the span of a blocking query ends when its connection is parked', async (t) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { app, spans } = aTracedApp(t, (reply) => {
    reply.hijack()
    const { socket } = reply.raw
    assert.ok(socket !== null)
    reply.raw.detachSocket(socket)
    setImmediate(resolve)
  })
  // Never answered: the connection is parked.
  void app.inject('/v1/jobs?index=7')
  await promise
  const [request, useCase] = spans
  assert.deepEqual([request?.hasEnded, request?.error], [true, undefined])
  assert.equal(request?.attributes['reeve.parked'], true)
  assert.equal(useCase?.hasEnded, true)
})
