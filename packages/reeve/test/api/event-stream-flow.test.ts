import assert from 'node:assert/strict'
import { test } from 'node:test'
import { register } from './cluster.ts'
import { aListening } from './event-reader.ts'
import { createTestServer, type TestServer } from './harness.ts'

const LIMIT = { timeout: 300_000 }
const MEGABYTE = 1_000_000

/** Jobs whose events are a megabyte each. */
async function registerLarge(server: TestServer, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await server.ok(
      'registerJob',
      register({ ID: `job-${i}`, Meta: { padding: 'x'.repeat(MEGABYTE) } }),
    )
}

test(
  'flow: a backlog larger than a reader may lag is sent whole to one that reads',
  LIMIT,
  async (t) => {
    const server = await createTestServer({ aclEnabled: false })
    await registerLarge(server, 24)
    const { open } = await aListening(t, server)
    const reader = await open({ topics: ['Job'] })
    const events = await reader.take(24)
    assert.deepEqual(
      events.map((event) => event.Key),
      Array.from({ length: 24 }, (_, i) => `job-${i}`),
    )
  },
)

test(
  'flow: a reader that takes nothing of its backlog is cut off after its time',
  LIMIT,
  async (t) => {
    const server = await createTestServer({ aclEnabled: false })
    await registerLarge(server, 24)
    const { open } = await aListening(t, server)
    const reader = await open({ topics: ['Job'], isPaused: true })
    await until(async () => (await gauge(server, 'event_streams')) === 1)
    // Whether the server has filled the connection yet is not to be seen from here.
    await until(async () => {
      server.clock.advance(10_000)
      return (await gauge(server, 'event_streams')) === 0
    })
    reader.response.resume()
    assert.match((await reader.closed()) ?? '', /^the reader is too slow/)
  },
)

test(
  'flow: a reader that falls too far behind is cut off, and told where to resume',
  LIMIT,
  async (t) => {
    const server = await createTestServer({ aclEnabled: false })
    const { open, flush } = await aListening(t, server)
    const slow = await open({ topics: ['Job'], isPaused: true })
    const quick = await open({ topics: ['Job'] })
    for (let i = 0; i < 40 && (await gauge(server, 'event_streams')) === 2; i++) {
      await server.ok(
        'registerJob',
        register({ ID: `job-${i}`, Meta: { padding: 'x'.repeat(MEGABYTE) } }),
      )
      flush()
    }
    assert.equal(await gauge(server, 'event_streams'), 1)
    slow.response.resume()
    assert.match((await slow.closed()) ?? '', /^the reader is too slow; resume at Index \+ 1$/)
    const sent = slow.events().map((event) => event.Index)
    assert.equal(slow.lines.at(-1)?.Index, sent.at(-1))
    await quick.take(sent.length)
  },
)

test('flow: a backlog that goes while it is read is told as a gap', LIMIT, async (t) => {
  const server = await createTestServer({ aclEnabled: false })
  await registerLarge(server, 40)
  const { open } = await aListening(t, server)
  const { store } = server.context
  const reader = await open({ topics: ['Job'], isPaused: true })
  await until(async () => reader.response.readableLength > 0)
  await store.checkpoint()
  await store.log.trim(30)
  reader.response.resume()
  await reader.line((line) => line.Events?.at(-1)?.Key === 'job-39')
  const covered = reader.lines.flatMap((line) => {
    if (line.Gap !== undefined) return range(line.Gap.From, line.Gap.To)
    return line.Events === undefined ? [] : [line.Index ?? 0]
  })
  assert.deepEqual(covered, range(2, 41), 'every commit is either shown or told as lost')
})

test('flow: a stop ends every stream with its reason', LIMIT, async (t) => {
  const server = await createTestServer({ aclEnabled: false })
  const { open } = await aListening(t, server)
  const readers = [
    await open(),
    await open({ topics: ['Job'] }),
    await open({ query: { index: 99 } }),
  ]
  await server.close()
  for (const reader of readers) assert.equal(await reader.closed(), 'the server is shutting down')
})

async function gauge(server: TestServer, name: string): Promise<number | undefined> {
  const { Gauges } = await server.ok('readMetrics')
  return Gauges.find((one) => one.Name === `service_${name}`)?.Value
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await new Promise((resolve) => setImmediate(resolve))
}

function range(from: number, to: number): readonly number[] {
  return Array.from({ length: to - from + 1 }, (_, i) => from + i)
}
