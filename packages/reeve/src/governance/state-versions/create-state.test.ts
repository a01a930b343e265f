import assert from 'node:assert/strict'
import { test } from 'node:test'
import { decideWrite } from './create-state.ts'

const latest = { id: 'sv-1', serial: 5, md5: 'a', lineage: 'L' }
const plain = { serial: 6, md5: 'b', lineage: 'L', force: false }
const person = { isRun: false }
const run = { isRun: true }

const cases = [
  { name: 'the first state', before: undefined, wish: plain, by: person, kind: 'write' },
  { name: 'the next serial', before: latest, wish: plain, by: run, kind: 'write' },
  { name: 'a lower serial of a person', wish: { ...plain, serial: 2 }, by: person, kind: 'write' },
  { name: 'a lower serial of a run', wish: { ...plain, serial: 2 }, by: run, kind: 'refuse' },
  { name: 'the same once more', wish: { ...plain, serial: 5, md5: 'a' }, by: run, kind: 'repeat' },
  { name: 'another content', wish: { ...plain, serial: 5 }, by: person, kind: 'refuse' },
  {
    name: 'another content by force',
    wish: { ...plain, serial: 5, force: true },
    by: person,
    kind: 'write',
  },
  { name: 'another lineage', wish: { ...plain, lineage: 'M' }, by: person, kind: 'refuse' },
  {
    name: 'another lineage by force',
    wish: { ...plain, lineage: 'M', force: true },
    by: person,
    kind: 'write',
  },
  {
    name: 'another lineage by force of a run',
    wish: { ...plain, lineage: 'M', force: true },
    by: run,
    kind: 'refuse',
  },
  { name: 'no lineage', wish: { ...plain, lineage: null }, by: person, kind: 'write' },
]
for (const { name, wish, by, kind, ...given } of cases)
  test(`state write: ${name} is ${kind}`, () => {
    const before = 'before' in given ? given.before : latest
    assert.equal(decideWrite(before, wish, by).kind, kind)
  })
