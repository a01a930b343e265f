import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_HEARTBEAT_SETTINGS, heartbeatIntervalMs } from './heartbeat-monitor.ts'

const cases = [
  { nodes: 1, ms: 5_000 },
  { nodes: 5_000, ms: 5_000 },
  { nodes: 10_000, ms: 10_000 },
]
for (const { nodes, ms } of cases)
  test(`heartbeats: interval of ${nodes} nodes is ${ms} ms`, () => {
    assert.equal(heartbeatIntervalMs(nodes, DEFAULT_HEARTBEAT_SETTINGS), ms)
  })
