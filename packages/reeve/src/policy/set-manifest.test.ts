import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readSetManifest } from './manifest.ts'

test('readSetManifest: policies are sorted and have defaults; params apply to all', () => {
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
      modules: new Map(),
      statics: new Map(),
      policies: [
        {
          name: 'a',
          description: null,
          query: null,
          level: 'advisory',
          source: undefined,
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

test('readSetManifest: an opa policy has a query', () => {
  const text = 'policy "p" {\n  query = "data.p.deny"\n  enforcement_level = "mandatory"\n}'
  const read = readSetManifest('opa', text)
  assert.ok(read.ok)
  assert.deepEqual(read.value.policies, [
    {
      name: 'p',
      description: null,
      query: 'data.p.deny',
      level: 'mandatory',
      source: undefined,
      params: {},
    },
  ])
})

test('readSetManifest: an empty manifest is a set without policies', () => {
  const none = { policies: [], params: {}, modules: new Map(), statics: new Map() }
  assert.deepEqual(readSetManifest('native', ''), { ok: true, value: none })
})

test('readSetManifest: modules and static data are listed by name', () => {
  const read = readSetManifest(
    'native',
    'import "module" "m" { source = "./m.native" }\nimport "static" "d" { source = "./d.json" }',
  )
  assert.ok(read.ok)
  assert.deepEqual([...read.value.modules], [['m', './m.native']])
  assert.deepEqual([...read.value.statics], [['d', './d.json']])
})

test('readSetManifest: the manifest may be JSON', () => {
  const text = '{"policy": {"p": {"query": "data.p.deny", "enforcement_level": "mandatory"}}}'
  const read = readSetManifest('opa', text, 'policies.json')
  assert.ok(read.ok)
  assert.deepEqual(
    read.value.policies.map(({ name, query, level }) => [name, query, level]),
    [['p', 'data.p.deny', 'mandatory']],
  )
})

const REFUSED = [
  { kind: 'opa', text: 'policy "p" {}', says: /query/ },
  { kind: 'native', text: 'policy "p" { query = "data.p" }', says: /query/ },
  { kind: 'native', text: 'policy {}', says: /native\.hcl:1/ },
  {
    kind: 'native',
    text: 'policy "p" { enforcement_level = "mandatory" }',
    says: /must be one of hard-/,
  },
  { kind: 'native', text: 'policy "p" { params = [1] }', says: /params of "p" must be an object/ },
  { kind: 'native', text: 'policy "p" { enforcement_level = "hard" }', says: /is no level/ },
  { kind: 'native', text: 'policy "../p" {}', says: /"\.\.\/p" is no name/ },
  { kind: 'native', text: 'policy "p" {}\npolicy "p" {}', says: /native\.hcl:2.*there twice/ },
  { kind: 'native', text: 'param "p" {}', says: /value/ },
  {
    kind: 'native',
    text: 'param "p" { value = 1 }\nparam "p" { value = 2 }',
    says: /:2.*there twice/,
  },
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
