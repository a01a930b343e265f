import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { openMemoryEngine } from '../../src/storage/index.ts'
import { aNamespace, write } from '../build/store.ts'
import { register } from './cluster.ts'
import { createTestServer, itemsOf, type TestServer } from './harness.ts'

/** What callers see while the storage is slow, and after it has failed. */

async function aServer(...jobs: readonly string[]): Promise<TestServer> {
  const server = await createTestServer({ aclEnabled: false })
  for (const ID of jobs) await server.ok('registerJob', register({ ID }))
  return server
}

test('storage: when a write fails it is 503, it left nothing, and reads go on', async () => {
  const server = await aServer('web')
  server.engine.faultInjector.fillDisk()
  const failed = await server.send('POST', '/v1/jobs', register({ ID: 'lost' }))
  assert.deepEqual(
    [failed.status, failed.text, failed.headers['content-type']],
    [503, 'The disk is full.', 'text/plain; charset=utf-8'],
  )
  for (const again of [
    await server.send('POST', '/v1/jobs', register({ ID: 'lost' })),
    await server.send('DELETE', '/v1/job/web'),
    await server.send('PUT', '/v1/namespace/n', { body: { Name: 'n' } }),
  ])
    assert.deepEqual([again.status, again.text], [503, 'The disk is full.'])
  const list = await server.send('GET', '/v1/jobs')
  assert.deepEqual([list.status, list.index], [200, 2])
  assert.deepEqual(
    // The answer was held against the contract; this names the part that is looked at.
    itemsOf(list).map(({ ID }) => ID),
    ['web'],
  )
  assert.equal((await server.send('GET', '/v1/job/lost')).status, 404)
})

test('storage: a read that waits goes on waiting and ends at its time', async () => {
  const server = await aServer('web')
  const waiting = server.send('GET', '/v1/job/web?index=2&wait=10s')
  server.engine.faultInjector.fillDisk()
  assert.equal((await server.send('DELETE', '/v1/job/web')).status, 503)
  server.clock.advance(10_000)
  const reply = await waiting
  assert.deepEqual([reply.status, reply.index], [200, 2])
})

test('storage: nothing that is not durable is shown', async () => {
  const server = await aServer()
  const held = server.engine.faultInjector.blockNext()
  write(server.context.store, [aNamespace('new')])
  await held.started
  let isAnswered = false
  const reading = server.send('GET', '/v1/namespace/new').then((reply) => {
    isAnswered = true
    return reply
  })
  for (let i = 0; i < 20; i++) await setImmediate()
  assert.equal(isAnswered, false)
  held.release()
  assert.equal((await reading).status, 200)
})

/** A write that hangs, and the way to let it fail. */
async function aDoomedWrite(server: TestServer) {
  const held = server.engine.faultInjector.blockNext()
  const writing = server.send('POST', '/v1/jobs', register({ ID: 'new' }))
  await held.started
  const fail = (): void => {
    // Another server takes the storage over; what this one still writes is not taken.
    openMemoryEngine({ disk: server.engine.disk })
    held.release()
  }
  return { writing, fail }
}

test('storage: a read that saw what then failed answers with what is durable', async () => {
  const server = await aServer('web')
  const { writing, fail } = await aDoomedWrite(server)
  const list = server.send('GET', '/v1/jobs')
  const one = server.send('GET', '/v1/job/new')
  await setImmediate()
  fail()
  assert.equal((await writing).status, 503)
  assert.deepEqual(
    itemsOf(await list).map(({ ID }) => ID),
    ['web'],
  )
  assert.deepEqual([(await list).index, (await one).status, (await one).index], [2, 404, 2])
})

test('storage: a write that is refused because of what then failed is no refusal', async () => {
  const server = await aServer('web')
  const { writing, fail } = await aDoomedWrite(server)
  const call = register({ ID: 'new' }, { EnforceIndex: true, JobModifyIndex: 0 })
  const conflicting = server.send('POST', '/v1/jobs', call)
  await setImmediate()
  fail()
  assert.deepEqual([(await writing).status, (await conflicting).status], [503, 503])
})

test('storage: nobody is told that a job is gone before that is durable', async () => {
  const server = await aServer('web')
  const held = server.engine.faultInjector.blockNext()
  const purging = server.send('DELETE', '/v1/job/web?purge=true')
  await held.started
  let isAnswered = false
  const again = server.send('DELETE', '/v1/job/web').finally(() => (isAnswered = true))
  for (let i = 0; i < 20; i++) await setImmediate()
  assert.equal(isAnswered, false)
  held.release()
  assert.deepEqual([(await purging).status, (await again).status], [200, 200])
})
