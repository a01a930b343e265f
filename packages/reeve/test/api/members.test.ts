import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AgentMember, AgentMembers } from '@reeve/contract'
import { agentMember } from '../../src/workload/index.ts'
import { createTestServer } from './harness.ts'
import { aRegionWorld, bootstrap } from './region-world.ts'

function aMember(name: string, Status: AgentMember['Status'] = 'alive'): AgentMember {
  const Tags = { role: 'server', region: 'global', dc: 'dc1', build: '1' }
  return agentMember({ name, region: 'global', address: `${name}:4646`, Tags, Status })
}

test('members: every server of the cluster that the one who answers knows', async () => {
  const members = [aMember('a'), aMember('b', 'failed'), aMember('c', 'left')]
  const server = await createTestServer({ aclEnabled: false, agent: { members: () => members } })
  const { Members } = await server.ok('listAgentMembers')
  assert.deepEqual(Members, members)
})

const ADDRESSES = [
  { address: '10.0.0.1:4646', Addr: '10.0.0.1', Port: 4646 },
  { address: '[fd00::1]:4646', Addr: 'fd00::1', Port: 4646 },
  { address: 'server.example:80', Addr: 'server.example', Port: 80 },
]

for (const { address, ...shown } of ADDRESSES)
  test(`members: ${address} is shown as address and port`, () => {
    const member = agentMember({ name: 'a', region: 'eu', address, Tags: {}, Status: 'alive' })
    assert.deepEqual({ Addr: member.Addr, Port: member.Port }, shown)
    assert.equal(member.Name, 'a.eu')
  })

/** Each server of these tests tells the region that it is of. */
async function inRegions(t: Parameters<typeof aRegionWorld>[0], aclEnabled: boolean) {
  const world = await aRegionWorld(t, ['us', 'eu', 'down'], { aclEnabled })
  const at = async (region: 'us' | 'eu', query = '', token?: string): Promise<AgentMembers> => {
    const shown = token === undefined ? {} : { token }
    const answer = await world[region].fetch(`/v1/agent/members${query}`, shown)
    assert.equal(answer.status, 200)
    // The route answers with this.
    return (await answer.json()) as AgentMembers
  }
  return { world, at }
}

const inShort = ({ Members }: AgentMembers) => Members.map(({ Name, Status }) => [Name, Status])

test('members: servers of other regions as they tell, or as they are configured', async (t) => {
  const { at } = await inRegions(t, false)
  const DOWN = ['127.0.0.1:1.down', 'failed']
  assert.deepEqual(inShort(await at('us')), [['test.us', 'alive'], DOWN, ['test.eu', 'alive']])
  assert.deepEqual(inShort(await at('eu')), [['test.eu', 'alive'], DOWN, ['test.us', 'alive']])
  const asked = await at('us', '?region=eu')
  assert.deepEqual([asked.ServerRegion, asked.ServerName], ['eu', 'test.eu'])
})

test('members: a region tells its servers to whom it lets see them', async (t) => {
  const { world, at } = await inRegions(t, true)
  const { SecretID } = await bootstrap(world.us)
  const names = (await at('us', '', SecretID)).Members.map(({ Name }) => Name)
  // The token counts in its own region only: nobody has copied it to the other.
  assert.deepEqual(names, ['test.us', '127.0.0.1:1.down'])
})
