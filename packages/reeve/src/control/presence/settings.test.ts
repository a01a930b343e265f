import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_PRESENCE, heartbeatMsFor } from './settings.ts'

const cases = [
  { nodes: 1, ms: 5_000 },
  { nodes: 5_000, ms: 5_000 },
  { nodes: 10_000, ms: 10_000 },
]
for (const { nodes, ms } of cases)
  test(`heartbeats: each of ${nodes} nodes speaks every ${ms} ms`, () => {
    assert.equal(heartbeatMsFor(nodes, DEFAULT_PRESENCE), ms)
  })
