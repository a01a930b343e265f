import assert from 'node:assert/strict'
import test from 'node:test'
import { canonicalMembers, withClientMembers } from './json-documents.ts'

const ALIASES = {
  members: { 'other-version': 'tool-version', 'can-update-other': 'can-update-policies' },
  nested: ['permissions'],
  values: { kind: { other: 'native' } },
  policyKinds: { other: 'native' },
}

const NONE = { members: {}, nested: [], values: {}, policyKinds: {} }

const requests: readonly { name: string; sent: object; known: object }[] = [
  { name: 'an alias', sent: { 'other-version': '1.2' }, known: { 'tool-version': '1.2' } },
  { name: 'the canonical name', sent: { 'tool-version': '1.2' }, known: { 'tool-version': '1.2' } },
  {
    name: 'both: the alias is ignored',
    sent: { 'tool-version': '1', 'other-version': '2' },
    known: { 'tool-version': '1', 'other-version': '2' },
  },
  { name: 'an alias of a value', sent: { kind: 'other' }, known: { kind: 'native' } },
  {
    name: 'the file of an enforce entry',
    sent: { enforce: [{ path: 'a.other', mode: 'advisory' }, { path: 'a.opa' }, 'text'] },
    known: { enforce: [{ path: 'a.native', mode: 'advisory' }, { path: 'a.opa' }, 'text'] },
  },
  {
    name: 'an alias in an object that may have some',
    sent: { permissions: { 'can-update-other': true }, settings: { 'other-version': 'kept' } },
    known: { permissions: { 'can-update-policies': true }, settings: { 'other-version': 'kept' } },
  },
  { name: 'names of the prototype', sent: { constructor: 'x' }, known: { constructor: 'x' } },
]
for (const { name, sent, known } of requests)
  test(`canonicalMembers: ${name}`, () => {
    const document = (attributes: object) => ({ data: { type: 'things', attributes } })
    assert.deepEqual(canonicalMembers(document(sent), ALIASES), document(known))
  })

for (const odd of [undefined, null, 'text', [], { data: null }, { data: { attributes: [] } }])
  test(`canonicalMembers: ${JSON.stringify(odd)} is left to the schema`, () => {
    assert.deepEqual(canonicalMembers(odd, ALIASES), odd)
  })

test('canonicalMembers: aliases of values only are applied', () => {
  const { values, policyKinds } = ALIASES
  const known = (aliases: Partial<typeof ALIASES>, attributes: object) =>
    canonicalMembers({ data: { attributes } }, { ...NONE, ...aliases })
  assert.deepEqual(known({ values }, { kind: 'other' }), {
    data: { attributes: { kind: 'native' } },
  })
  assert.deepEqual(known({ policyKinds }, { enforce: [{ path: 'a.other' }] }), {
    data: { attributes: { enforce: [{ path: 'a.native' }] } },
  })
})

test('aliases: without any, a document is the same object', () => {
  const document = { data: { attributes: { a: 1 } } }
  assert.equal(canonicalMembers(document, NONE), document)
})

test('withClientMembers: clients with the header get their names, and no null', () => {
  const names = {
    memberHeaders: [
      { name: 'other-version', prefix: '' },
      { name: 'user-agent', prefix: 'go-other' },
    ],
    nested: ['permissions'],
    responseMembers: {
      'tool-version': { name: 'other-version', nullValue: 'latest' },
      'can-update-policies': { name: 'can-update-other' },
    },
  }
  const aResource = (attributes: object) => ({ type: 'things', attributes })
  const document = {
    data: [aResource({ 'tool-version': '1.2' }), aResource({ name: 'a' })],
    included: [aResource({ 'tool-version': null, permissions: { 'can-update-policies': true } })],
    meta: { 'tool-version': '3' },
  }
  const permissions = { 'can-update-policies': true, 'can-update-other': true }
  for (const headers of [{ 'other-version': '1.11.4' }, { 'user-agent': 'go-other/1' }])
    assert.deepEqual(withClientMembers(document, headers, names), {
      data: [
        aResource({ 'tool-version': '1.2', 'other-version': '1.2' }),
        aResource({ name: 'a' }),
      ],
      included: [aResource({ 'tool-version': null, 'other-version': 'latest', permissions })],
      meta: { 'tool-version': '3' },
    })
  for (const headers of [{}, { 'user-agent': 'other' }])
    assert.equal(withClientMembers(document, headers, names), document)
})
