import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Value } from 'typebox/value'
import { AgentMessage, ServerMessage } from './messages.ts'

const fromServer = [
  { kind: 'welcome', heartbeatMs: 10_000, serverTimeMs: 1_767_225_600_000 },
  { kind: 'welcome', heartbeatMs: 10_000, serverTimeMs: 1_767_225_600_000, region: 'eu' },
  { kind: 'heartbeat', heartbeatMs: 10_000 },
  { kind: 'desired', full: true, index: 7, allocations: [], removed: [] },
  { kind: 'desired', full: true, more: true, index: 7, allocations: [], removed: ['a'] },
  { kind: 'ack', seq: 1 },
  { kind: 'refuse', message: 'the join token is wrong' },
  { kind: 'services-ack', seq: 1 },
  { kind: 'facts', id: 1, instances: [] },
  { kind: 'facts', id: 1, names: [{ name: 'web', tags: ['a'] }] },
  { kind: 'facts', id: 1, items: null },
  { kind: 'facts', id: 1, paths: ['service/jobs'] },
  { kind: 'request', id: '1', request: { verb: 'host-usage' } },
  {
    kind: 'open',
    stream: '00000000-0000-4000-8000-000000000001',
    secret: 's',
    request: {
      verb: 'exec',
      allocation: '00000000-0000-4000-8000-000000000001',
      task: 'web',
      command: ['/bin/sh'],
      tty: true,
    },
  },
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
  { kind: 'services', seq: 1, sets: [{ allocation: update.ID, services: [] }] },
  { kind: 'services', seq: 1, sets: [], all: [update.ID] },
  { kind: 'watch', id: 1, what: { topic: 'service', namespace: 'default', name: 'web' } },
  { kind: 'watch', id: 2, what: { topic: 'variable', namespace: 'default', path: 'a' } },
  { kind: 'unwatch', id: 1 },
  { kind: 'reply', id: '1', ok: {} },
  { kind: 'reply', id: '1', error: { status: 404, message: 'no such file' } },
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
  { kind: 'services', seq: 1, sets: [], all: ['x'] },
  { kind: 'watch', id: 1, what: { topic: 'secrets', namespace: 'default' } },
  { kind: 'hello', version: 1 },
  { kind: 'reply', id: '1', error: { status: 200, message: 'fine' } },
  'heartbeat',
]
for (const message of broken) {
  test(`an agent may not say ${JSON.stringify(message)}`, () => {
    assert.equal(Value.Check(AgentMessage, message), false)
  })
}
