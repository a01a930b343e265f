import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  clusterMembers,
  DEFAULT_HEARTBEAT,
  type RegisteredServer,
  type ServerState,
} from './server-registry.ts'

function found(name: string, parts: Partial<RegisteredServer> = {}): RegisteredServer {
  const facts = { region: 'global', datacenter: 'dc1', build: '1.2.3', sinceHeartbeatMs: 0 }
  return { id: name, name, address: `${name}:4646`, state: 'serving', ...facts, ...parts }
}

const own = found('own')
const SILENT_MS = DEFAULT_HEARTBEAT.failedMs + 1

const statuses: readonly [state: ServerState, silentMs: number, status: string][] = [
  ['serving', 0, 'alive'],
  ['serving', DEFAULT_HEARTBEAT.failedMs, 'alive'],
  ['serving', SILENT_MS, 'failed'],
  ['leaving', 0, 'leaving'],
  ['leaving', SILENT_MS, 'failed'],
  ['left', 0, 'left'],
  ['left', SILENT_MS, 'left'],
]

for (const [state, silentMs, status] of statuses)
  test(`members: a server that was ${state} ${silentMs} ms ago is ${status}`, () => {
    const members = clusterMembers({
      self: own,
      servers: [found('other', { state, sinceHeartbeatMs: silentMs })],
      leaderAddress: '',
    })
    assert.deepEqual(
      members.map((member) => [member.name, member.status]),
      [
        ['other', status],
        ['own', 'alive'],
      ],
    )
  })

test('members: the leader is marked, and none without a leader', () => {
  const leaders = (leader: string) =>
    clusterMembers({ self: own, servers: [own, found('other')], leaderAddress: leader }).map(
      ({ isLeader }) => isLeader,
    )
  assert.deepEqual(leaders('other:4646'), [true, false])
  assert.deepEqual(leaders('own:4646'), [false, true])
  assert.deepEqual(leaders(''), [false, false])
})

test('members: a server knows its own state, and its earlier processes are not listed', () => {
  const roll = [
    { ...own, sinceHeartbeatMs: SILENT_MS },
    found('own', { id: 'before', state: 'left' }),
  ]
  const members = clusterMembers({ self: own, servers: roll, leaderAddress: '' })
  assert.deepEqual(
    members.map(({ status }) => status),
    ['alive'],
  )
})

test('members: sorted by name, then by address, whatever the order of the records', () => {
  const roll = [
    found('b', { address: 'z:2' }),
    found('b', { id: 'b2', address: 'z:1' }),
    found('a'),
  ]
  const addresses = clusterMembers({ self: own, servers: roll, leaderAddress: '' }).map(
    ({ address }) => address,
  )
  assert.deepEqual(addresses, ['a:4646', 'z:1', 'z:2', 'own:4646'])
})
