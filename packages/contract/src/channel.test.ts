import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { AgentMessage, ServerMessage } from './channel.ts'

const fromServer = [
  { kind: 'welcome', heartbeatMs: 10_000, serverTimeMs: 1_767_225_600_000 },
  { kind: 'heartbeat', heartbeatMs: 10_000 },
  { kind: 'desired', full: true, index: 7, allocations: [], removed: [] },
  { kind: 'desired', full: true, more: true, index: 7, allocations: [], removed: ['a'] },
  { kind: 'ack', seq: 1 },
  { kind: 'refuse', message: 'the join token is wrong' },
]
for (const message of fromServer) {
  test(`a server may say ${JSON.stringify(message)}`, () => {
    assert.ok(Value.Check(ServerMessage, message))
    assert.ok(Value.Check(ServerMessage, { ...message, added: 'by a later version' }))
    const { kind: _, ...unnamed } = message
    assert.equal(Value.Check(ServerMessage, unnamed), false)
  })
}

const update = {
  ID: '00000000-0000-4000-8000-000000000001',
  ClientStatus: 'running',
  ClientDescription: 'Tasks are running',
  TaskStates: null,
}
const fromAgent = [
  { kind: 'heartbeat' },
  { kind: 'status', seq: 1, updates: [] },
  { kind: 'status', seq: 2, updates: [update] },
]
for (const message of fromAgent) {
  test(`an agent may say ${JSON.stringify(message)}`, () => {
    assert.ok(Value.Check(AgentMessage, message))
  })
}

const broken = [
  { kind: 'status', seq: 0, updates: [] },
  { kind: 'status', seq: 1, updates: [{ ...update, ID: 'x' }] },
  { kind: 'status', seq: 1, updates: [{ ...update, ClientStatus: 'sleeping' }] },
  { kind: 'node' },
  { kind: 'hello', version: 1 },
  'heartbeat',
]
for (const message of broken) {
  test(`an agent may not say ${JSON.stringify(message)}`, () => {
    assert.equal(Value.Check(AgentMessage, message), false)
  })
}
