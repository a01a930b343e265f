import assert from 'node:assert/strict'
import { get } from 'node:http'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { put, remove, type Change } from '../../src/state/index.ts'
import { newSummary } from '../../src/model/index.ts'
import { aJob, anAllocation, anEvaluation, aNode, anId } from '../build/index.ts'
import { ofJob, register } from './cluster.ts'
import { createTestServer, itemsOf, type Reply, type TestServer, parkedQueries } from './harness.ts'
import { aSecuredServer } from './secured.ts'

/** Lets requests that can be answered be answered. */
async function turns(): Promise<void> {
  for (let i = 0; i < 10; i++) await setImmediate()
}

/** A request that is not waited for. */
function ask(server: TestServer, url: string, token?: string) {
  const asked: { reply: Reply | undefined; done: Promise<Reply> } = {
    reply: undefined,
    done: server.send('GET', url, { token }).then((reply) => (asked.reply = reply)),
  }
  return asked
}

async function write(server: TestServer, ...changes: readonly Change[]): Promise<number> {
  const { index, durable } = server.context.store.commit({
    by: 'system',
    cause: undefined,
    changes: () => changes,
  })
  await durable
  await turns()
  return index
}

/** One of everything, written at index 2; what a test writes next has index 3. */
async function aWorld(): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  await write(server, ...rowsOf('web', 1))
  return server
}

function rowsOf(ID: string, i: number): readonly Change[] {
  const job = aJob({ ID })
  const { SecretID: _secret, ...node } = aNode({ ID: anId('node', i) })
  return [
    put('jobs', job),
    put('job_versions', job),
    put('job_summaries', newSummary(job)),
    put('allocations', anAllocation({ job, ID: anId('alloc', i), NodeID: anId('node', i) })),
    put('evaluations', anEvaluation(job, { ID: anId('eval', i) })),
    put('nodes', { ...node, SecretHash: '' }),
  ]
}

function changeOf(table: string, i: number): Change {
  const change = rowsOf(i === 1 ? 'web' : `job-${i}`, i).find((one) => one.table === table)
  return change ?? assert.fail(`nothing is written to ${table}`)
}

// When it answers

test('blocking: without an index, or with 0, it answers at once', async () => {
  const server = await aWorld()
  for (const query of ['', 'index=', 'index=0', 'index=0&wait=10m', 'wait=10m'])
    assert.equal((await server.send('GET', `/v1/jobs?${query}`)).index, 2, query)
})

test('blocking: an index below the current one answers at once', async () => {
  const server = await aWorld()
  assert.equal((await server.send('GET', '/v1/jobs?index=1&wait=10m')).index, 2)
})

test('blocking: the current index waits for a change', async () => {
  const server = await aWorld()
  const asked = ask(server, '/v1/jobs?index=2')
  await turns()
  assert.equal(asked.reply, undefined)
  await server.ok('registerJob', register({ ID: 'new' }))
  const reply = await asked.done
  assert.deepEqual([reply.status, reply.index], [200, 3])
  // The answer was held against the contract; this names the part that is looked at.
  assert.equal(itemsOf(reply).length, 2)
})

test('blocking: an index of the future waits until the time is up, and answers with what there is', async () => {
  const server = await aWorld()
  const asked = ask(server, '/v1/jobs?index=99&wait=10s')
  await turns()
  await write(server, changeOf('jobs', 1))
  server.clock.advance(9_999)
  await turns()
  assert.equal(asked.reply, undefined)
  server.clock.advance(1)
  assert.deepEqual([(await asked.done).status, (await asked.done).index], [200, 3])
})

const WAITS = [
  { wait: '', ms: 300_000 },
  { wait: '&wait=', ms: 300_000 },
  { wait: '&wait=0s', ms: 300_000 },
  { wait: '&wait=-1s', ms: 300_000 },
  { wait: '&wait=30s', ms: 30_000 },
  { wait: '&wait=1m30s', ms: 90_000 },
  { wait: '&wait=250ms', ms: 250 },
  { wait: '&wait=10m', ms: 600_000 },
  { wait: '&wait=100h', ms: 600_000 },
]

for (const { wait, ms } of WAITS)
  test(`blocking: index=2${wait} waits for ${ms} ms`, async () => {
    const server = await aWorld()
    const asked = ask(server, `/v1/job/web?index=2${wait}`)
    await turns()
    server.clock.advance(ms - 1)
    await turns()
    assert.equal(asked.reply, undefined)
    server.clock.advance(1)
    assert.deepEqual([(await asked.done).status, (await asked.done).index], [200, 2])
  })

test('blocking: reads that know no index answer at once', async () => {
  const server = await aWorld()
  for (const url of ['/v1/status/leader', '/v1/agent/health', '/v1/regions'])
    assert.equal((await server.send('GET', `${url}?index=99`)).status, 200)
})

// What wakes it

const SINGLES = [
  { url: '/v1/job/web', table: 'jobs' },
  { url: '/v1/job/web/summary', table: 'job_summaries' },
  { url: `/v1/allocation/${anId('alloc', 1)}`, table: 'allocations' },
  { url: `/v1/evaluation/${anId('eval', 1)}`, table: 'evaluations' },
  { url: `/v1/node/${anId('node', 1)}`, table: 'nodes' },
]

for (const { url, table } of SINGLES)
  test(`blocking: ${url} wakes for its own row only`, async () => {
    const server = await aWorld()
    const asked = ask(server, `${url}?index=2`)
    await turns()
    await write(server, ...rowsOf('other', 2))
    for (const other of SINGLES)
      if (other.table !== table) await write(server, changeOf(other.table, 1))
    assert.equal(asked.reply, undefined)
    const index = await write(server, changeOf(table, 1))
    assert.deepEqual([(await asked.done).status, (await asked.done).index], [200, index])
  })

const LISTS = [
  { url: '/v1/jobs?', tables: ['jobs', 'job_summaries'] },
  { url: '/v1/job/web/allocations?', tables: ['allocations'] },
  { url: '/v1/job/web/evaluations?', tables: ['evaluations'] },
  { url: '/v1/allocations?', tables: ['allocations'] },
  { url: '/v1/evaluations?', tables: ['evaluations'] },
  { url: `/v1/evaluation/${anId('eval', 1)}/allocations?`, tables: ['allocations'] },
  { url: '/v1/nodes?', tables: ['nodes'] },
  { url: '/v1/jobs?per_page=1&', tables: ['jobs'] },
  { url: '/v1/jobs?namespace=*&filter=ID==nope&', tables: ['jobs'] },
]

for (const { url, tables } of LISTS)
  test(`blocking: ${url} wakes for ${tables.join(' and ')}, and for nothing else`, async () => {
    for (const table of tables) {
      const server = await aWorld()
      const asked = ask(server, `${url}index=2`)
      await turns()
      for (const other of SINGLES)
        if (
          !tables.includes(other.table) &&
          !(url.startsWith('/v1/jobs') && other.table.startsWith('job'))
        )
          await write(server, changeOf(other.table, 1))
      assert.equal(asked.reply, undefined)
      const index = await write(server, changeOf(table, 7))
      assert.deepEqual([(await asked.done).status, (await asked.done).index], [200, index])
    }
  })

for (const { url, table } of SINGLES)
  test(`blocking: ${url} waits for what is not there yet`, async () => {
    const server = await createTestServer({ aclEnabled: false })
    const asked = ask(server, `${url}?index=1`)
    await turns()
    assert.equal(asked.reply, undefined)
    await write(server, ...rowsOf('web', 1))
    assert.deepEqual([(await asked.done).status, (await asked.done).index], [200, 2])
    assert.ok(table)
  })

test('blocking: what is not there when the time is up is not found, with the headers', async () => {
  const server = await aWorld()
  const asked = ask(server, '/v1/job/gone?index=2&wait=10s')
  await turns()
  server.clock.advance(10_000)
  const reply = await asked.done
  assert.deepEqual([reply.status, reply.text, reply.index], [404, 'job not found', 2])
  assert.equal(reply.headers['x-service-knownleader'], 'true')
})

test('blocking: what goes while it is waited for is not found', async () => {
  const server = await aWorld()
  const asked = ask(server, '/v1/job/web?index=2')
  await turns()
  const index = await write(server, remove('jobs', 'default!web'))
  assert.deepEqual([(await asked.done).status, (await asked.done).index], [404, index])
})

test('blocking: one commit wakes all who wait for it', async () => {
  const server = await aWorld()
  const asked = Array.from({ length: 600 }, () => ask(server, '/v1/job/web?index=2'))
  while (parkedQueries() < 600) await setImmediate()
  const index = await write(server, changeOf('jobs', 1))
  server.clock.advance(10)
  const replies = await Promise.all(asked.map((one) => one.done))
  assert.deepEqual(new Set(replies.map((reply) => reply.index)), new Set([index]))
  assert.equal(parkedQueries(), 0)
})

test('blocking: an unchanged job gives a new evaluation, and its reader sleeps on', async () => {
  const server = await createTestServer({ aclEnabled: false })
  await server.ok('registerJob', register())
  const job = ask(server, '/v1/job/web?index=2')
  const evaluations = ask(server, '/v1/job/web/evaluations?index=2')
  await turns()
  await server.ok('registerJob', register())
  assert.equal((await evaluations.done).index, 3)
  assert.equal(job.reply, undefined)
  await server.ok('stopJob', ofJob())
  assert.equal((await job.done).index, 4)
})

// Rights

test('blocking: who may not is refused at once', async () => {
  const { server } = await aSecuredServer()
  const reply = await server.send('GET', '/v1/jobs?index=99')
  assert.deepEqual([reply.status, reply.text], [403, 'Permission denied'])
})

// The end

test('blocking: a token that was deleted meanwhile is refused', async () => {
  const { server, root, as, client } = await aSecuredServer()
  const reader = await client('namespace "default" { policy = "read" }')
  const change = async (): Promise<void> => {
    const changes = [put('jobs', aJob({ ID: 'web' }))]
    await server.context.store.commit({ by: 'system', cause: undefined, changes: () => changes })
      .durable
  }
  await change()
  const query = { index: server.context.store.indexIn('jobs', { kind: 'every' }) }
  const waiting = server.call('listJobs', as(reader, { query }))
  while (parkedQueries() !== 1) await setImmediate()
  const params = { accessor_id: reader.AccessorID }
  await server.ok('deleteAclToken', as(root, { params }))
  await change()
  assert.equal((await waiting).status, 403)
  await server.close()
})

test('blocking: a stop answers what waits, with what there is', async () => {
  const server = await aWorld()
  const asked = [ask(server, '/v1/jobs?index=2'), ask(server, '/v1/job/gone?index=2')]
  await turns()
  await server.close()
  assert.deepEqual(
    (await Promise.all(asked.map((one) => one.done))).map((reply) => reply.status),
    [200, 404],
  )
  assert.equal(parkedQueries(), 0)
})

test('blocking: a caller that goes leaves nothing behind', { timeout: 300_000 }, async (t) => {
  const server = await aWorld()
  const address = await server.listen()
  t.after(() => server.close())
  const request = get(`${address}/v1/jobs?index=2`)
  request.on('error', () => undefined)
  while (parkedQueries() === 0) await setImmediate()
  request.destroy()
  while (parkedQueries() > 0) await setImmediate()
  assert.equal(server.context.store.watches.size, 0)
})
