import assert from 'node:assert/strict'
import test from 'node:test'
import { knownMembers } from './member-aliases.ts'

const ALIASES = {
  members: { 'other-version': 'tool-version', 'can-update-other': 'can-update-policies' },
  values: { kind: { other: 'native' } },
}

const requests: readonly { name: string; sent: object; known: object }[] = [
  { name: 'another name', sent: { 'other-version': '1.2' }, known: { 'tool-version': '1.2' } },
  { name: 'our name', sent: { 'tool-version': '1.2' }, known: { 'tool-version': '1.2' } },
  {
    name: 'both: ours counts',
    sent: { 'tool-version': '1', 'other-version': '2' },
    known: { 'tool-version': '1', 'other-version': '2' },
  },
  { name: 'another word', sent: { kind: 'other' }, known: { kind: 'native' } },
  { name: 'names of the prototype', sent: { constructor: 'x' }, known: { constructor: 'x' } },
]
for (const { name, sent, known } of requests)
  test(`knownMembers: ${name}`, () => {
    const document = (attributes: object) => ({ data: { type: 'things', attributes } })
    assert.deepEqual(knownMembers(document(sent), ALIASES), document(known))
  })

for (const odd of [undefined, null, 'text', [], { data: null }, { data: { attributes: [] } }])
  test(`knownMembers: ${JSON.stringify(odd)} is left to the schema`, () => {
    assert.deepEqual(knownMembers(odd, ALIASES), odd)
  })

test('aliases: without any, a document is the same object', () => {
  const document = { data: { attributes: { a: 1 } } }
  const none = { members: {}, values: {} }
  assert.equal(knownMembers(document, none), document)
})
