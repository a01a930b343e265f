import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anAgentConfig } from '../../test/build/agent-config.ts'
import type { Member } from '../cluster/index.ts'
import { createAgentStatus } from './agent-status.ts'

const NOBODY = {
  leader: () => '',
  isLeading: () => false,
  members: () => [],
  writeRefusal: () => undefined,
  outage: () => undefined,
  commitsLost: () => 0,
  acceptLoss: async () => [],
  retire: async () => undefined,
}

function aMember(name: string, parts: Partial<Member> = {}): Member {
  const facts = { region: 'global', datacenter: 'dc1', build: '1', status: 'alive' } as const
  return { name, address: `${name}:4646`, isLeader: false, ...facts, ...parts }
}

test('agent: a server that is alone leads, and is the only member', () => {
  const config = anAgentConfig()
  const self = createAgentStatus(
    { ...config, advertise: { host: 'fd00::1', httpPort: 80 } },
    '1.2.3',
  )
  assert.equal(self.leader(), '', 'not before it serves')
  self.setServer('http://[::]:4646')
  assert.equal(self.leader(), '[fd00::1]:80', 'where others reach it')
  assert.deepEqual(self.peers(), ['[fd00::1]:80'])
  const [member, ...rest] = self.members()
  assert.deepEqual(rest, [])
  assert.deepEqual(
    [member?.Addr, member?.Port, member?.Status, member?.Tags],
    [
      'fd00::1',
      80,
      'alive',
      {
        role: 'server',
        region: config.region,
        dc: config.datacenter,
        build: '1.2.3',
        leader: 'true',
      },
    ],
  )
  assert.deepEqual(self.member(), member)
})

test('agent: one of several servers lists all with their addresses', () => {
  const self = createAgentStatus(anAgentConfig(), '1.2.3')
  const members = [
    aMember('a', { isLeader: true }),
    aMember('b', { status: 'failed' }),
    aMember('c', { status: 'left' }),
    aMember('d', { status: 'leaving', build: '2' }),
  ]
  self.setCluster({ ...NOBODY, leader: () => 'a:4646', members: () => members })
  assert.equal(self.leader(), 'a:4646')
  assert.deepEqual(self.peers(), ['a:4646', 'b:4646', 'd:4646'], 'not those that have left')
  assert.deepEqual(
    self.members().map(({ Name, Status, Tags }) => [Name, Status, Tags['build'], Tags['leader']]),
    [
      ['a.global', 'alive', '1', 'true'],
      ['b.global', 'failed', '1', undefined],
      ['c.global', 'left', '1', undefined],
      ['d.global', 'leaving', '2', undefined],
    ],
  )
})

test('agent: a cluster that has lost commits is unhealthy, and suggests a remedy', () => {
  const self = createAgentStatus(anAgentConfig(), '1.2.3')
  self.setCluster({
    ...NOBODY,
    leader: () => 'a:4646',
    writeRefusal: () => '3 acknowledged commits',
  })
  assert.deepEqual(self.health().server, { ok: false, message: '3 acknowledged commits' })
})

test('agent: a cluster without a leader reports the reason, if it is known', () => {
  const self = createAgentStatus(anAgentConfig(), '1.2.3')
  self.setCluster({ ...NOBODY, leader: () => '' })
  assert.deepEqual(self.health().server, { ok: false, message: 'no leader' })
  self.setCluster({
    ...NOBODY,
    leader: () => '',
    outage: () => 'the database has not answered for 4 s',
  })
  const message = 'no leader: the database has not answered for 4 s'
  assert.deepEqual(self.health().server, { ok: false, message })
})

test('agent: is named with or without its region', () => {
  const self = createAgentStatus({ ...anAgentConfig(), name: 'x.ab', region: 'a' }, '1.2.3')
  const names = ['x.ab', 'x.ab.a', 'xb.a', 'x', 'x.ab.b']
  assert.deepEqual(
    names.map((name) => self.isNamed(name)),
    [true, true, false, false, false],
  )
})

const FORCED = [
  { name: 'a failed server', server: 'b', outcome: 'done', retired: ['b'] },
  { name: 'a failed server by its full name', server: 'b.global', outcome: 'done', retired: ['b'] },
  { name: 'a server that is alive', server: 'a', outcome: 'alive', retired: [] },
  { name: 'a server that nobody knows', server: 'z', outcome: 'unknown', retired: [] },
]

for (const { name, server, outcome, retired } of FORCED)
  test(`agent: force-leave of ${name}`, async () => {
    const self = createAgentStatus(anAgentConfig(), '1.2.3')
    const asked: string[] = []
    self.setCluster({
      ...NOBODY,
      members: () => [aMember('a'), aMember('b', { status: 'failed' })],
      retire: async (gone) => void asked.push(gone),
    })
    assert.deepEqual([await self.forceLeave(server, false), asked], [outcome, retired])
  })
