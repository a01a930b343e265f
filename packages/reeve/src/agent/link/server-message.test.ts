import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readServerMessage } from './session.ts'

const cases = [
  { name: 'a known message', text: '{"kind":"ack","seq":3}', want: 'ack' },
  { name: 'an unknown kind is ignored', text: '{"kind":"dance","x":1}', want: undefined },
  { name: 'unknown fields are ignored', text: '{"kind":"ack","seq":3,"new":true}', want: 'ack' },
  { name: 'the name of a built-in is no kind', text: '{"kind":"constructor"}', want: undefined },
  {
    name: 'entries are not judged here',
    text: '{"kind":"desired","full":true,"index":1,"allocations":[7],"removed":[]}',
    want: 'desired',
  },
]
for (const c of cases) {
  test(`readServerMessage: ${c.name}`, () => {
    const message = readServerMessage(c.text)
    assert.ok(message.ok)
    assert.equal(message.value?.kind, c.want)
  })
}

test('readServerMessage: entries of one job share what the first of them carries', () => {
  const allocations = [
    { allocation: 'a', job: { ID: 'web' } },
    { allocation: 'b', jobOf: 0 },
    { allocation: 'c', jobOf: 7 },
    { allocation: 'd', jobOf: 1 },
  ]
  const text = JSON.stringify({ kind: 'desired', full: false, index: 1, allocations, removed: [] })
  const message = readServerMessage(text)
  assert.ok(message.ok && message.value?.kind === 'desired')
  assert.deepEqual(message.value.allocations, [
    { allocation: 'a', job: { ID: 'web' } },
    { allocation: 'b', jobOf: 0, job: { ID: 'web' } },
    { allocation: 'c', jobOf: 7 },
    { allocation: 'd', jobOf: 1 },
  ])
})

const broken = [
  { name: 'not JSON', text: '{', error: 'a frame is not a message' },
  { name: 'not an object', text: '[]', error: 'a frame is not a message' },
  { name: 'null', text: 'null', error: 'a frame is not a message' },
  { name: 'no kind', text: '{}', error: 'a frame is not a message' },
  {
    name: 'a field of the wrong type',
    text: '{"kind":"ack","seq":"3"}',
    error: 'ack/seq must be integer',
  },
]
for (const c of broken) {
  test(`readServerMessage: ${c.name} is an error`, () => {
    assert.deepEqual(readServerMessage(c.text), { ok: false, error: c.error })
  })
}
