import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SimulatedClock } from '@reeve/kit/test/simulated-clock.ts'
import { SpanExporter } from './tracing.ts'
import { SpanRecorder } from './tracer.ts'

const RESOURCE = { serviceName: 'reeve', serviceVersion: '1', instance: 'a', region: 'global' }

interface Answer {
  /** Undefined for a collector that does not answer. */
  readonly status: number | undefined
  readonly body?: string | ReadableStream
}

/** An exporter whose collector gives these answers, the last one for ever. */
function anExporter(...answers: Answer[]) {
  const clock = new SimulatedClock()
  const logged: string[] = []
  const bodies: string[] = []
  const exporter = new SpanExporter({
    url: 'http://collector/v1/traces',
    headers: {},
    resource: RESOURCE,
    clock,
    log: {
      info: (_, message) => void logged.push(message),
      warn: (_, message) => void logged.push(message),
    },
    fetch: (_url, init) => {
      bodies.push(typeof init?.body === 'string' ? init.body : '')
      const { status, body = '' } = (answers.length > 1 ? answers.shift() : answers[0]) ?? {
        status: 500,
      }
      if (status !== undefined) return Promise.resolve(new Response(body, { status }))
      const { promise, reject } = Promise.withResolvers<never>()
      init?.signal?.addEventListener('abort', () => reject(new Error('aborted')))
      return promise
    },
  })
  const random = { next: () => 0 }
  const tracer = new SpanRecorder({
    clock,
    random,
    sampleRatio: 1,
    onEnd: (span) => exporter.add(span),
  })
  const add = (count: number): void => {
    for (let i = 0; i < count; i += 1) tracer.start({ name: `s${i}`, parent: undefined }).end()
  }
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms)
    await exporter.idle()
  }
  const sentSpans = (): number[] => bodies.map((body) => body.match(/"traceId"/g)?.length ?? 0)
  return { clock, exporter, tracer, logged, sentSpans, bodies, add, pass }
}

test('spans are sent together, after a second', async () => {
  const { exporter, add, pass, sentSpans } = anExporter({ status: 200 })
  add(3)
  await pass(999)
  assert.deepEqual(sentSpans(), [])
  await pass(1)
  assert.deepEqual(sentSpans(), [3])
  assert.deepEqual([exporter.exported, exporter.dropped], [3, 0])
})

test('a collector that is away gets them later; what has no room is dropped and counted', async () => {
  const { exporter, add, pass, logged, sentSpans } = anExporter({ status: 503 }, { status: 200 })
  add(10)
  await pass(1_000)
  assert.deepEqual(sentSpans(), [10])
  add(8_192)
  assert.equal(exporter.dropped, 10)
  for (let round = 0; round < 30; round += 1) await pass(1_000)
  assert.deepEqual([exporter.exported, exporter.dropped], [8_192, 10])
  assert.deepEqual(logged, [
    'trace collector is unavailable; spans are buffered',
    'trace collector accepts spans again',
  ])
})

test('rejected spans are not sent again', async () => {
  const partial = '{"partialSuccess":{"rejectedSpans":"2"}}'
  const { exporter, add, pass } = anExporter({ status: 400 }, { status: 200, body: partial })
  add(4)
  await pass(1_000)
  assert.deepEqual([exporter.exported, exporter.dropped], [0, 4])
  add(5)
  await pass(1_000)
  assert.deepEqual([exporter.exported, exporter.dropped], [3, 6])
})

test('a rejection is logged once until spans are accepted again', async () => {
  const answers = [401, 401, 503, 404, 200, 401].map((status) => ({ status }))
  const { add, pass, logged } = anExporter(...answers)
  for (const _ of answers) {
    add(1)
    await pass(1_000)
  }
  assert.deepEqual(logged, [
    'trace collector rejected spans',
    'trace collector accepts spans again',
    'trace collector rejected spans',
  ])
})

test('the start of a response is read, and no more', async () => {
  let chunks = 0
  const body = new ReadableStream({
    pull(controller) {
      chunks += 1
      if (chunks > 1_000) controller.close()
      else controller.enqueue(new Uint8Array(16 * 1024))
    },
  })
  const { exporter, add, pass } = anExporter({ status: 200, body })
  add(1)
  await pass(1_000)
  assert.equal(exporter.exported, 1)
  assert.ok(chunks < 10, `${chunks} chunks of 16 KiB were read`)
})

test('a collector that does not answer delays the end of the program by 3 seconds', async () => {
  const { clock, exporter, add } = anExporter({ status: undefined })
  add(600)
  const closed = exporter.close()
  clock.advance(3_000)
  await closed
  assert.deepEqual([exporter.exported, exporter.dropped], [0, 600])
})

test('the end of the program sends what waits, once', async () => {
  const { exporter, add, sentSpans } = anExporter({ status: 200 })
  add(600)
  await exporter.close()
  assert.deepEqual([sentSpans(), exporter.exported], [[512, 88], 600])
  const away = anExporter({ status: 503 })
  away.add(5)
  await away.exporter.close()
  assert.deepEqual([away.sentSpans(), away.exporter.dropped], [[5], 5])
})

test('a span has its parent, its attributes within limits and its error', async () => {
  const { tracer, pass, bodies } = anExporter({ status: 200 })
  const parent = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' }
  const span = tracer.start({
    name: 'work',
    parent: { ...parent, isSampled: true },
    kind: 'client',
    attributes: { text: 'x'.repeat(1_000), whole: 3, part: 0.5, yes: true },
  })
  for (let i = 0; i < 100; i += 1) span.set(`further-${i}`, i)
  span.end('it failed')
  span.end('only the first end counts')
  tracer.start({ name: 'unsampled', parent: { ...parent, isSampled: false } }).end()
  await pass(1_000)
  const { resourceSpans } = JSON.parse(bodies[0] ?? '')
  const [sent, ...others] = resourceSpans[0].scopeSpans[0].spans
  assert.deepEqual(others, [])
  assert.deepEqual(
    [sent.traceId, sent.parentSpanId, sent.name, sent.kind, sent.status],
    [parent.traceId, parent.spanId, 'work', 3, { code: 2, message: 'it failed' }],
  )
  assert.equal(sent.attributes.length, 32)
  assert.deepEqual(sent.attributes.slice(0, 4), [
    { key: 'text', value: { stringValue: 'x'.repeat(512) } },
    { key: 'whole', value: { intValue: '3' } },
    { key: 'part', value: { doubleValue: 0.5 } },
    { key: 'yes', value: { boolValue: true } },
  ])
})
