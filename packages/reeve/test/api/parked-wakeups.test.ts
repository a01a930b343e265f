import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { HEADERS } from '@reeve/contract'
import { put, type Change } from '../../src/state/index.ts'
import { aJob } from '../build/index.ts'
import { aNamespace } from '../build/store.ts'
import { until } from '../build/until.ts'
import { createTestServer, LOOSE_LIMITS, parkedQueries, type TestServer } from './harness.ts'

const JOBS = 100
const PARKED = 600
/** Enough for a list that is read in several slices and takes more than one turn to send. */
const LARGE_LIST_JOBS = 2_000
const SHARING = 100

interface World {
  readonly server: TestServer
  readonly port: number
  /** A new token that may read these namespaces. */
  readonly reader: (...namespaces: readonly string[]) => Promise<string>
}

async function aWorld(t: TestContext, requestsPerSecond = 0): Promise<World> {
  const server = await createTestServer({
    limits: {
      ...LOOSE_LIMITS,
      requestsPerSecond,
      blockingQueriesPerToken: PARKED,
    },
  })
  t.after(() => server.close())
  const { SecretID: token } = await server.ok('bootstrapAcl')
  await write(server, put('namespaces', aNamespace('a')), put('namespaces', aNamespace('b')))
  let count = 0
  return {
    server,
    port: Number(new URL(await server.listen()).port),
    async reader(...namespaces) {
      const Name = `reader-${++count}`
      const Rules = namespaces.map((name) => `namespace "${name}" { policy = "read" }`).join('\n')
      const params = { policy_name: Name }
      await server.ok('writeAclPolicy', { token, params, body: { Name, Rules } })
      const body = { Type: 'client', Policies: [Name] }
      return (await server.ok('createAclToken', { token, body })).SecretID
    },
  }
}

async function write({ context }: TestServer, ...changes: readonly Change[]): Promise<number> {
  const { index, durable } = context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => changes,
  })
  await durable
  return index
}

function jobIn(Namespace: string, ID = 'web'): Change {
  return put('jobs', aJob({ ID, Namespace }))
}

/** A query on a connection of its own, and what has come back. */
interface Parked {
  readonly pieces: Buffer[]
  received: number
  /** Known with the first piece, which holds the head. */
  total: number | undefined
}

function park(t: TestContext, port: number, url: string, token: string): Parked {
  const socket = connect(port, '127.0.0.1')
  const parked: Parked = { pieces: [], received: 0, total: undefined }
  t.after(() => socket.destroy())
  socket.on('data', (bytes) => {
    parked.pieces.push(bytes)
    parked.received += bytes.length
    parked.total ??= lengthOf(bytes.toString('latin1'))
  })
  socket.write(`GET ${url} HTTP/1.1\r\nHost: localhost\r\n${HEADERS.token}: ${token}\r\n\r\n`)
  return parked
}

async function untilParked(count: number): Promise<void> {
  await until(`${count} parked queries`, () => (parkedQueries() === count ? true : undefined))
}

function lengthOf(text: string): number {
  const [head = ''] = text.split('\r\n\r\n', 1)
  return head.length + 4 + Number(/^content-length: (\d+)$/im.exec(head)?.[1])
}

function isComplete({ received, total }: Parked): boolean {
  return received === total
}

/** The jobs in a response that is complete; undefined before. */
function jobsIn(parked: Parked): readonly string[] | undefined {
  if (!isComplete(parked)) return undefined
  const [head = '', body = ''] = Buffer.concat(parked.pieces).toString().split('\r\n\r\n', 2)
  assert.match(head, /^HTTP\/1.1 200/)
  // A list of jobs is all that is asked for here.
  return (JSON.parse(body) as readonly { ID: string }[]).map(({ ID }) => ID)
}

async function jobsOf(parked: Parked): Promise<readonly string[]> {
  return await until('the response of a parked query', () => jobsIn(parked))
}

test('parked queries with the same URL have what their own token may read', async (t) => {
  const { server, port, reader } = await aWorld(t)
  const tokens = [await reader('a'), await reader('b'), await reader('a', 'b')]
  const index = await write(server, jobIn('a', 'first'))
  const url = `/v1/jobs?namespace=*&index=${index}`
  const parked = [...tokens, ...tokens].map((token) => park(t, port, url, token))
  await untilParked(6)
  await write(server, jobIn('a', 'in-a'), jobIn('b', 'in-b'))
  const lists = await Promise.all(parked.map(jobsOf))
  const expected = [['first', 'in-a'], ['in-b'], ['first', 'in-a', 'in-b']]
  assert.deepEqual(lists, [...expected, ...expected])
})

test('parked queries are not charged to the request rate a second time', async (t) => {
  const { server, port, reader } = await aWorld(t, 8)
  const token = await reader('a')
  server.clock.advance(1_000)
  const index = await write(server, jobIn('a'))
  const url = `/v1/jobs?namespace=a&index=${index}`
  const parked = Array.from({ length: 8 }, () => park(t, port, url, token))
  await untilParked(8)
  await write(server, jobIn('a', 'other'))
  for (const list of await Promise.all(parked.map(jobsOf))) assert.deepEqual(list, ['other', 'web'])
})

test('a commit that wakes hundreds of parked queries holds nobody up', async (t) => {
  const { server, port, reader } = await aWorld(t)
  const [many, other] = [await reader('a'), await reader('b')]
  const jobs = Array.from({ length: JOBS }, (_, at) => jobIn('a', `job-${at}`))
  const index = await write(server, ...jobs, jobIn('b'))
  const url = `/v1/jobs?namespace=a&index=${index}`
  const parked = Array.from({ length: PARKED }, () => park(t, port, url, many))
  await untilParked(PARKED)
  await write(server, jobIn('a', 'written'))
  const read = await server.send('GET', '/v1/job/web?namespace=b', { token: other })
  assert.equal(read.status, 200)
  const answered = parked.filter(({ received }) => received > 0).length
  assert.ok(answered < PARKED / 2, `${answered} of ${PARKED} were answered before another tenant`)
  await until('all responses', () => {
    // Who watches is told in slices, with no time in between.
    server.clock.advance(0)
    return parked.every(isComplete) ? true : undefined
  })
  const lists = await Promise.all(parked.map(jobsOf))
  for (const list of lists) assert.equal(list.length, JOBS + 1)
})

test('parked queries that share a large response get it a few at a time', async (t) => {
  const { server, port, reader } = await aWorld(t)
  const token = await reader('a')
  const jobs = Array.from({ length: LARGE_LIST_JOBS }, (_, at) => jobIn('a', `job-${at}`))
  const index = await write(server, ...jobs)
  const url = `/v1/jobs?namespace=a&index=${index}`
  const parked = Array.from({ length: SHARING }, () => park(t, port, url, token))
  await untilParked(SHARING)
  await write(server, jobIn('a', 'written'))
  const endMs = performance.now() + 60_000
  let begun = 0
  let together = 0
  while (!parked.every(isComplete)) {
    assert.ok(performance.now() < endMs, 'waited in vain for all responses')
    server.clock.advance(0)
    await setImmediate()
    const now = parked.filter(({ received }) => received > 0).length
    together = Math.max(together, now - begun)
    begun = now
  }
  assert.ok(together <= SHARING / 4, `${together} of ${SHARING} were sent in one turn`)
})

test('a client that has left while its query was parked costs no read', async (t) => {
  const { server, port, reader } = await aWorld(t)
  const token = await reader('a')
  const index = await write(server, jobIn('a'))
  const socket = connect(port, '127.0.0.1')
  // A query of this version keeps its request while it waits.
  const query = `GET /v1/jobs?namespace=a&index=${index} HTTP/1.0\r\n`
  socket.write(`${query}${HEADERS.token}: ${token}\r\n\r\n`)
  await untilParked(1)
  const reads = t.mock.method(server.context.store.tables.jobs, 'get')
  socket.destroy()
  await untilParked(0)
  await write(server, put('namespaces', aNamespace('c')))
  assert.equal(reads.mock.callCount(), 0)
})
