import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSetManifest } from './set-manifest.ts'

test('readSetManifest: policies by name, with defaults, and the parameters of all', () => {
  const text = `
    param "limit" { value = 3 }
    param "list" { value = ["a", { b = null }] }
    policy "z" {
      source            = "./rules/z.native"
      enforcement_level = "soft-mandatory"
      description       = "Why."
      params            = { limit = 4 }
    }
    policy "a" {}
  `
  assert.deepEqual(readSetManifest('native', text), {
    ok: true,
    value: {
      params: { limit: 3, list: ['a', { b: null }] },
      policies: [
        {
          name: 'a',
          description: null,
          query: null,
          level: 'advisory',
          source: './a.native',
          params: {},
        },
        {
          name: 'z',
          description: 'Why.',
          query: null,
          level: 'soft-mandatory',
          source: './rules/z.native',
          params: { limit: 4 },
        },
      ],
    },
  })
})

test('readSetManifest: an opa policy is asked its query', () => {
  const text = 'policy "p" {\n  query = "data.p.deny"\n  enforcement_level = "mandatory"\n}'
  const read = readSetManifest('opa', text)
  assert.ok(read.ok)
  assert.deepEqual(read.value.policies, [
    {
      name: 'p',
      description: null,
      query: 'data.p.deny',
      level: 'mandatory',
      source: './p.rego',
      params: {},
    },
  ])
})

test('readSetManifest: nothing is a set without policies', () => {
  assert.deepEqual(readSetManifest('native', ''), { ok: true, value: { policies: [], params: {} } })
})

const REFUSED = [
  { kind: 'opa', text: 'policy "p" {}', says: /query/ },
  { kind: 'native', text: 'policy "p" { query = "data.p" }', says: /query/ },
  { kind: 'native', text: 'policy {}', says: /native\.hcl:1/ },
  {
    kind: 'native',
    text: 'policy "p" { enforcement_level = "hard" }',
    says: /must be one of hard-/,
  },
  { kind: 'native', text: 'policy "p" { params = [1] }', says: /params must be an object/ },
  { kind: 'native', text: 'policy "../p" {}', says: /"\.\.\/p" is no name/ },
  { kind: 'native', text: 'policy "p" {}\npolicy "p" {}', says: /native\.hcl:2.*there twice/ },
  { kind: 'native', text: 'param "p" {}', says: /value/ },
  { kind: 'native', text: 'global "g" { value = 1 }', says: /global/ },
  { kind: 'native', text: 'policy "p" { description = file("/etc/passwd") }', says: /file/ },
  { kind: 'native', text: '['.repeat(10_000), says: /native\.hcl/ },
] as const
for (const { kind, text, says } of REFUSED)
  test(`readSetManifest: ${text.slice(0, 60)} is refused`, () => {
    const read = readSetManifest(kind, text)
    assert.ok(!read.ok)
    assert.match(read.error, says)
  })
