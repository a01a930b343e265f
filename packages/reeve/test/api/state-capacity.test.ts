import assert from 'node:assert/strict'
import { test } from 'node:test'
import { register } from './cluster.ts'
import { createTestServer } from './harness.ts'

const REASON = "95 % of the server's memory are used"

test('capacity: while memory is short, what adds to the state is rejected with the reason', async (t) => {
  const server = await createTestServer({ aclEnabled: false })
  t.after(() => server.close())
  const { capacity, store } = server.context
  await server.ok('registerJob', register({ ID: 'before' }))
  const variable = { params: { path: 'a' }, body: { Items: { a: '1' } } }
  const lock = { TTL: '30s' }
  const locked = await server.ok('writeVariable', {
    params: { path: 'leader' },
    query: { 'lock-acquire': '' },
    body: { Lock: lock },
  })
  capacity.setShortage(REASON)
  const { index } = store
  for (const answer of [
    await server.call('registerJob', register({ ID: 'more' })),
    await server.call('writeVariable', variable),
    await server.call('writeNamespace', { body: { Name: 'more' } }),
  ])
    assert.deepEqual([answer.status, answer.text], [503, `The state may not grow now: ${REASON}`])
  assert.equal(store.index, index)
  assert.equal((await server.ok('listJobs')).length, 1)
  await server.ok('writeVariable', {
    params: { path: 'leader' },
    query: { 'lock-renew': '' },
    body: { Lock: { ID: locked.Lock?.ID ?? '' } },
  })
  await server.ok('stopJob', { params: { job_id: 'before' }, query: { purge: true } })
  await server.ok('collectGarbage')
  capacity.setShortage(undefined)
  await server.ok('registerJob', register({ ID: 'more' }))
})

test('capacity: the reason is given in the errors of /api/v2 too', async (t) => {
  const server = await createTestServer()
  t.after(() => server.close())
  const { SecretID: token } = await server.ok('bootstrapAcl')
  server.context.capacity.setShortage(REASON)
  const answer = await server.send('POST', '/api/v2/organizations', {
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
    body: { data: { type: 'organizations', attributes: { name: 'acme', email: 'a@b.c' } } },
  })
  assert.equal(answer.status, 503)
  assert.match(answer.text, /"detail":"The state may not grow now: 95 %/)
})
