import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  areAdjacent,
  assertAdjacentVersions,
  DEFAULT_HEARTBEAT,
  type RegisteredServer,
  type ServerRecord,
  type ServerRegistry,
} from './server-registry.ts'

const cases: readonly (readonly [string, string, boolean])[] = [
  ['1.4.2', '1.4.9', true],
  ['1.4.2', '1.5.0', true],
  ['1.5.0', '1.4.2', true],
  ['1.4.2', '1.6.0', false],
  ['1.6.0-rc.1', '1.4.0', false],
  ['1.9.0', '2.0.3', true],
  ['1.9.0', '2.1.0', false],
  ['1.9.0', '3.0.0', false],
  ['1.4.2', 'unknown', true],
]
for (const [a, b, wanted] of cases)
  test(`versions: ${a} and ${b} ${wanted ? 'work' : 'do not work'} together`, () => {
    assert.equal(areAdjacent(a, b), wanted)
    assert.equal(areAdjacent(b, a), wanted)
  })

function entry(name: string, build: string): ServerRecord {
  const facts = { region: 'global', datacenter: 'dc1', state: 'serving' } as const
  return { id: name, name, address: `${name}:4646`, build, ...facts }
}

function rollWith(...found: readonly RegisteredServer[]): ServerRegistry {
  return {
    heartbeat: () => Promise.resolve(),
    retire: () => Promise.resolve(),
    list: () => Promise.resolve(found),
  }
}

test('versions: a server does not join one that is two minor versions older', async () => {
  const roll = rollWith({ ...entry('old', '1.4.0'), sinceHeartbeatMs: 0 })
  await assert.rejects(assertAdjacentVersions(roll, entry('new', '1.6.0')), {
    kind: 'server-version',
    message:
      /^The server old of this cluster runs Reeve 1\.4\.0, and this one is 1\.6\.0: .*Upgrade all servers to 1\.5 first\.$/,
  })
  await assertAdjacentVersions(roll, entry('new', '1.5.0'))
})

test('versions: a server does not join one that is two minor versions newer', async () => {
  const roll = rollWith({ ...entry('new', '1.6.0'), sinceHeartbeatMs: 0 })
  await assert.rejects(assertAdjacentVersions(roll, entry('old', '1.4.0')), {
    message: /Start version 1\.5 or 1\.6 here\.$/,
  })
})

test('versions: servers that have left or failed do not count', async () => {
  const roll = rollWith(
    { ...entry('left', '1.0.0'), state: 'left', sinceHeartbeatMs: 0 },
    { ...entry('failed', '1.0.0'), sinceHeartbeatMs: DEFAULT_HEARTBEAT.failedMs + 1 },
  )
  await assertAdjacentVersions(roll, entry('new', '1.6.0'))
})
