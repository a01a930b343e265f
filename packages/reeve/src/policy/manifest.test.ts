import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readManifest } from './manifest.ts'

const SET = `
policy "limits" {
  source            = "./limits.native"
  enforcement_level = "hard-mandatory"
  params            = { most = 3, big = 9007199254740993 }
}
policy "deny" {
  query = "data.jobs.deny"
}
module "old" { source = "./old.native" }
import "module" "groups" { source = "./modules/groups.native" }
import "static" "teams" {
  source = "./teams.json"
  format = "json"
}
import "plugin" "time" { config = { timezone = "UTC" } }
param "region" { value = "eu" }
global "job" { value = { id = "web", groups = [1, null, true] } }
mock "plan/v2" {
  module {
    source = "mock.native"
  }
}
mock "run" { data = { id = "run-1" } }
test { rules = { main = false, "other" = "x" } }
settings { features = { "apply-all" = true } }
`

test('manifest: every block of a set or a test is parsed', () => {
  const read = readManifest('native.hcl', SET)
  assert.ok(read.ok, JSON.stringify(read))
  const { policies, modules, statics, params, globals, mocks, expectedRules } = read.value
  const listed = policies.map(({ span: _span, ...policy }) => policy)
  assert.deepEqual(listed, [
    {
      name: 'limits',
      source: './limits.native',
      enforcementLevel: 'hard-mandatory',
      query: undefined,
      description: undefined,
      params: new Map<string, unknown>([
        ['big', 9007199254740993n],
        ['most', 3],
      ]),
    },
    {
      name: 'deny',
      source: undefined,
      enforcementLevel: 'advisory',
      query: 'data.jobs.deny',
      description: undefined,
      params: new Map(),
    },
  ])
  assert.deepEqual(
    [...modules],
    [
      ['old', './old.native'],
      ['groups', './modules/groups.native'],
    ],
  )
  assert.deepEqual([...statics], [['teams', './teams.json']])
  assert.deepEqual([...params], [['region', 'eu']])
  assert.deepEqual([...globals], [['job', { id: 'web', groups: [1, null, true] }]])
  assert.deepEqual(
    [...mocks],
    [
      ['plan/v2', { kind: 'module', source: 'mock.native' }],
      ['run', { kind: 'data', value: { id: 'run-1' } }],
    ],
  )
  assert.deepEqual(
    [...(expectedRules ?? [])],
    [
      ['main', false],
      ['other', 'x'],
    ],
  )
})

test('manifest: the manifest may be JSON', () => {
  const text = JSON.stringify({
    mock: { 'plan/v2': { module: { source: 'mock.native' } } },
    global: { job: { value: { id: '${x}' } } },
    test: { rules: { main: true } },
  })
  const read = readManifest('pass.json', text)
  assert.ok(read.ok, JSON.stringify(read))
  assert.deepEqual([...read.value.mocks], [['plan/v2', { kind: 'module', source: 'mock.native' }]])
  assert.deepEqual([...read.value.globals], [['job', { id: '${x}' }]])
  assert.deepEqual([...(read.value.expectedRules ?? [])], [['main', true]])
})

test('manifest: without a test block there are no expected rules', () => {
  const read = readManifest('a.hcl', '')
  assert.ok(read.ok)
  assert.equal(read.value.expectedRules, undefined)
})

const REFUSED: readonly (readonly [name: string, text: string, message: RegExp])[] = [
  ['a block that nobody knows', 'polici "x" { source = "x" }', /no block/],
  ['an argument that nobody knows', 'a = 1', /"a" is no argument/],
  ['a level that nobody knows', 'policy "x" { enforcement_level = "hard" }', /"hard" is no level/],
  ['a policy twice', 'policy "x" {}\npolicy "x" {}', /there twice/],
  ['a standard import', 'module "strings" { source = "x" }', /"strings" is a standard import/],
  ['an import twice', 'module "a" { source = "x" }\nimport "static" "a" { source = "y" }', /two/],
  [
    'static data of another format',
    'import "static" "a" {\nsource = "x"\nformat = "csv"\n}',
    /csv/,
  ],
  ['a plugin', 'import "plugin" "mine" { source = "x" }', /no standard import/],
  ['a kind of import', 'import "other" "mine" { source = "x" }', /no kind of import/],
  ['a mock without anything', 'mock "a" {}', /needs either/],
  ['a module without a source', 'import "module" "a" {}', /needs a source/],
  ['a text that is no HCL', 'policy "x" {', /./],
]

for (const [name, text, message] of REFUSED)
  test(`manifest: ${name} is refused with its place`, () => {
    const read = readManifest('native.hcl', text)
    assert.ok(!read.ok)
    assert.match(`${read.error[0]?.summary} ${read.error[0]?.detail}`, message)
    assert.ok((read.error[0]?.range.start.line ?? 0) >= 1)
  })
