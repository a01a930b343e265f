import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentMember } from '../../src/workload/index.ts'
import { createTestServer } from './harness.ts'

const MEMBERS = [
  { name: 'a', address: '10.0.0.1:4646', Status: 'alive' },
  { name: 'b', address: '[fd00::1]:4646', Status: 'alive' },
  { name: 'c', address: '10.0.0.3:4646', Status: 'failed' },
] as const

async function aServer(options: Parameters<typeof createTestServer>[0] = {}) {
  const members = MEMBERS.map((one) => agentMember({ ...one, region: 'global', Tags: {} }))
  const agent = { members: () => members, ...options.agent }
  return await createTestServer({ aclEnabled: false, ...options, agent })
}

test('agent servers: without a node, those of the cluster, and none can be set', async () => {
  const server = await aServer()
  assert.deepEqual(await server.ok('listAgentServers'), ['127.0.0.1:4646'])
  const query = { address: '10.0.0.1:4646' }
  const rejected = await server.refusal('setAgentServers', { query })
  assert.deepEqual(rejected, [
    501,
    'this agent does not run a node: send the request to a client agent',
  ])
})

test('agent servers: those of the node are listed and replaced', async () => {
  let servers: readonly string[] = ['10.0.0.1:4646']
  const nodeServers = {
    list: () => servers,
    set: async (given: readonly string[]) => {
      if (given.includes('down:1')) return 'none of these servers can be reached: down:1'
      servers = given
      return undefined
    },
  }
  const server = await aServer({ agent: { nodeServers: () => nodeServers } })
  await server.ok('setAgentServers', { query: { address: ['10.0.0.2:4646', '10.0.0.3:4646'] } })
  assert.deepEqual(await server.ok('listAgentServers'), ['10.0.0.2:4646', '10.0.0.3:4646'])
  assert.deepEqual(await server.refusal('setAgentServers', { query: { address: 'down:1' } }), [
    400,
    'none of these servers can be reached: down:1',
  ])
  const missing = [400, 'missing server address']
  assert.deepEqual(await server.refusal('setAgentServers'), missing)
  assert.deepEqual(await server.refusal('joinAgent'), missing)
})

test('agent join: counts members of the cluster, and says how others become one', async () => {
  const server = await aServer()
  const address = ['10.0.0.1:4646', 'http://[fd00::1]:4646', 'a.global', '10.0.0.3:4646']
  const { num_joined: count, error } = await server.ok('joinAgent', { query: { address } })
  assert.equal(count, 3)
  assert.equal(
    error,
    '10.0.0.3:4646 is no live member of this cluster: servers join it by starting with the same ' +
      'database (server.database)',
  )
})

test('agent join: a flood of addresses is rejected', async () => {
  const server = await aServer()
  const address = Array.from({ length: 65 }, (_, n) => `host-${n}`)
  const rejected = await server.refusal('joinAgent', { query: { address } })
  assert.deepEqual(rejected, [400, 'at most 64 addresses can be given'])
})

test('agent force-leave: says what became of the server', async () => {
  const asked: [string, boolean][] = []
  const forceLeave = async (name: string, prune: boolean) => {
    asked.push([name, prune])
    return name === 'c' ? 'done' : name === 'a' ? 'alive' : 'unknown'
  }
  const server = await aServer({ agent: { forceLeave } })
  await server.ok('forceLeaveAgent', { query: { node: 'c' } })
  await server.ok('forceLeaveAgent', { query: { node: 'c', prune: true } })
  assert.deepEqual(asked, [
    ['c', false],
    ['c', true],
  ])
  const refused = async (node: string) =>
    await server.refusal('forceLeaveAgent', { query: { node } })
  assert.deepEqual(await refused('a'), [
    400,
    'server "a" is alive: only failed servers can be forced to leave. Stop it, and it leaves the cluster.',
  ])
  assert.deepEqual(await refused('z'), [
    404,
    'server "z" is unknown or not alive; `reeve server members` lists the servers',
  ])
  assert.deepEqual(await refused(''), [400, 'missing node to force leave'])
})
