import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestServer } from './harness.ts'
import { aSecuredServer } from './secured.ts'

const ROUTE = 'acceptDatabaseLoss'

test('accept loss: gives what was lost, and is told who decided', async () => {
  const deciders: string[] = []
  const acceptLoss = async (by: string) => {
    deciders.push(by)
    return [{ fromIndex: 4, toIndex: 7 }]
  }
  const server = await createTestServer({ aclEnabled: false, agent: { acceptLoss } })
  assert.deepEqual(await server.ok(ROUTE), {
    Accepted: [{ FromIndex: 4, ToIndex: 7, Commits: 4 }],
  })
  assert.equal(deciders.length, 1)
})

test('accept loss: nothing to accept is no mistake', async () => {
  const server = await createTestServer({
    aclEnabled: false,
    agent: { acceptLoss: async () => [] },
  })
  assert.deepEqual(await server.ok(ROUTE), { Accepted: [] })
})

test('accept loss: a server without a shared database says so', async () => {
  const server = await createTestServer({ aclEnabled: false })
  const { status, text } = await server.call(ROUTE)
  assert.equal(status, 400)
  assert.match(text, /keeps its state in its data directory/)
})

test('accept loss: needs operator:write', async () => {
  const { server, as, client } = await aSecuredServer()
  const writer = await client('operator { policy = "write" }')
  const reader = await client('operator { policy = "read" }')
  // Who may is told that there is no database.
  assert.equal((await server.call(ROUTE, as(writer))).status, 400)
  assert.equal((await server.call(ROUTE, as(reader))).status, 403)
  assert.equal((await server.call(ROUTE)).status, 403)
})
