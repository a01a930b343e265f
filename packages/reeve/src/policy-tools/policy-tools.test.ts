import assert from 'node:assert/strict'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { checkPolicies, evaluatePolicies, formatPolicies, testPolicies } from './index.ts'

const NATIVE = `# Groups stay small.
import "groups"
import "teams/web" as web
param most

small = rule { groups.largest(job) <= most }
owned = rule when job.meta is not null { web contains namespace }
unused = func() {
  return 1
}
main = rule { small and owned }
`

const FILES: Readonly<Record<string, string>> = {
  'native.hcl': `
policy "limits" {
  source = "./limits.native"
  params = { most = 3 }
}
import "module" "groups" { source = "./modules/groups.native" }
import "static" "teams" { source = "./data/teams.json" }
`,
  'limits.native': NATIVE,
  'modules/groups.native': `func largest(job) {
  most = 0
  for job.task_groups as group { if group.count > most { most = group.count } }
  return most
}
`,
  'data/teams.json': '{"web": {"default": true}}',
  'test/limits/pass.hcl': `
global "job" { value = { meta = { team = "web" }, task_groups = [{ count = 2 }] } }
global "namespace" { value = "default" }
`,
  'test/limits/large.json': JSON.stringify({
    global: {
      job: { value: { meta: null, task_groups: [{ count: 9 }] } },
      namespace: { value: 'x' },
    },
    test: { rules: { main: false, small: false } },
  }),
  'deny.rego': `package jobs

deny contains msg if {
	some group in input.job.TaskGroups
	group.Count > 3
	msg := sprintf("%s has %d", [group.Name, group.Count])
}

other := 1 if input.never
`,
  'deny_test.rego': `package jobs

test_small if count(deny) == 0 with input as {"job": {"TaskGroups": []}}

test_large if deny["a has 9"] with input as {"job": {"TaskGroups": [{"Name": "a", "Count": 9}]}}

todo_test_later if false
`,
  'job.json': JSON.stringify({
    job: { ID: 'web', Meta: null, TaskGroups: [{ Name: 'a', Count: 9 }] },
    namespace: 'default',
  }),
}

async function aFolder(t: TestContext, more: Readonly<Record<string, string>> = {}) {
  const folder = await temporaryDirectory(t)
  for (const [name, text] of Object.entries({ ...FILES, ...more })) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}

function aTerminal() {
  const written = { out: '', err: '' }
  return {
    written,
    terminal: {
      out: (text: string) => void (written.out += text),
      err: (text: string) => void (written.err += text),
    },
  }
}

const nowNs = 1_772_600_767_000_000_000n
const SETTINGS = {
  settings: { time: { nowNs, zone: 'UTC', offsetSeconds: () => 0 }, version: '1.0.0' },
  rego: { nowNs, random: () => 0 },
}

async function runTests(paths: readonly string[], isJson = false, only?: string) {
  const { written, terminal } = aTerminal()
  const request = { paths, only, withCoverage: true, isJson, ...SETTINGS, terminal }
  return { code: await testPolicies(request), ...written }
}

test('policy test: cases of native policies and test rules are run, with coverage', async (t) => {
  const folder = await aFolder(t)
  const { code, out, err } = await runTests([folder])
  assert.equal(err, '')
  const lines = out.replaceAll(`${folder}/`, '').trimEnd().split('\n')
  assert.deepEqual(lines, [
    'PASS  limits/large.json',
    'PASS  limits/pass.hcl',
    'PASS  data.jobs/test_small',
    'PASS  data.jobs/test_large',
    'SKIP  data.jobs/todo_test_later',
    'limits.native: 3 of 3 rules, 4 of 5 statements; not reached: lines 9',
    'modules/groups.native: 0 of 0 rules, 6 of 6 statements',
    'deny.rego: 1 of 2 rules; not reached: lines 9',
    'deny_test.rego: 2 of 3 rules; not reached: lines 7',
    '5 tests: 4 passed, 0 failed, 1 skipped',
  ])
  assert.equal(code, 0)
})

test('policy test: only the selected tests run', async (t) => {
  const { out } = await runTests([await aFolder(t)], true, 'large')
  const { tests } = JSON.parse(out)
  assert.deepEqual(
    tests.map(({ name }: { name: string }) => name),
    ['large.json', 'test_large'],
  )
})

const NOT_PASSING: readonly (readonly [name: string, file: string, text: string, said: RegExp])[] =
  [
    [
      'a rule with another value',
      'test/limits/wrong.hcl',
      'global "job" { value = { meta = null, task_groups = [{ count = 9 }] } }',
      /FAIL {2}limits\/wrong\.hcl\n +"main" is false, not true\n.*limits\.native:6:16: in "small"/,
    ],
    [
      'a rule that was not evaluated',
      'test/limits/wrong.hcl',
      `global "job" { value = { meta = null, task_groups = [{ count = 9 }] } }
test { rules = { owned = true } }`,
      /the rule "owned" was not evaluated/,
    ],
    ['an error', 'test/limits/wrong.hcl', '', /ERROR {2}limits\/wrong\.hcl\n.*"job"/],
    ['a case that cannot be read', 'test/limits/wrong.hcl', 'tset {}', /wrong\.hcl:1:1.*no block/],
    [
      'a mock that is missing',
      'test/limits/wrong.hcl',
      'mock "x" {\nmodule {\nsource = "no"\n}\n}',
      /no such/,
    ],
    [
      'a source on another machine',
      'test/limits/wrong.hcl',
      'import "module" "x" { source = "https://example.com/x" }',
      /not on this machine/,
    ],
    [
      'a test rule that is undefined',
      'b_test.rego',
      'package b\n\ntest_no if 1 == 2\n',
      /is undefined, not true/,
    ],
  ]

for (const [name, file, text, said] of NOT_PASSING)
  test(`policy test: ${name} does not pass`, async (t) => {
    const folder = await aFolder(t, { [file]: text })
    const { code, out } = await runTests([folder])
    assert.match(out.replaceAll(`${folder}/`, ''), said)
    assert.equal(code, 1)
  })

test('policy test: each rule of one name is a separate test', async (t) => {
  const folder = await aFolder(t, {
    'a_test.rego': 'package a\n\ntest_x if 1 == 1\n\ntest_x if 1 == 2\n\ntest_x if 2 == 2\n',
    'b_test.rego': 'package a\n\ntest_x if 3 == 3\n',
  })
  const { code, out } = await runTests([folder])
  const lines = out.split('\n').filter((line) => line.includes('data.a/'))
  assert.deepEqual(lines, [
    'PASS  data.a/test_x',
    'FAIL  data.a/test_x#01',
    'PASS  data.a/test_x#02',
    'PASS  data.a/test_x#03',
  ])
  assert.equal(code, 1)
})

const CASES = `package a

cases := {
	"one": {"a": 1, "want": 2},
	"two": {"a": 2, "want": 3},
	"wrong": {"a": 3, "want": 5},
}

test_add[name] if {
	some name, c in cases
	c.a + 1 == c.want
}

test_right[name] if {
	some name, c in {"only": 1}
	c == 1
}

test_few[kind][name] if {
	some name
	c := cases[name]
	kind := ["even", "odd"][c.a % 2]
	c.a < 3
}

test_none[name] if some name, _ in {}
`

test('policy test: a test with several cases lists the failed ones', async (t) => {
  const folder = await aFolder(t, { 'a_test.rego': CASES })
  const { out } = await runTests([join(folder, 'a_test.rego')])
  const lines = out.split('\n').filter((line) => !/[|]|rego:/.test(line))
  assert.deepEqual(lines.slice(0, 10), [
    'FAIL  data.a/test_add',
    '      PASS  one',
    '      PASS  two',
    '      FAIL  wrong',
    '      1 of 3 cases failed',
    'PASS  data.a/test_right',
    'FAIL  data.a/test_few',
    '      PASS  odd/one',
    '      PASS  even/two',
    '      FAIL  odd/wrong',
  ])
  assert.match(out, /"test_none" is \{\}, not true/)
})

test('policy test: mocks replace imports with data and with modules', async (t) => {
  const folder = await aFolder(t, {
    'plan.native': `import "plan/v2" as plan
import "time"
main = rule { all plan.resource_changes as _, c { c.change.actions is ["create"] } and time.now.hour is 3 }
`,
    'test/plan/create.hcl': `
mock "plan/v2" {
  module {
    source = "mock-create.native"
  }
}
mock "time" { data = { now = { hour = 3 } } }
`,
    'test/plan/mock-create.native': `resource_changes = {"a": {"change": {"actions": ["create"]}}}\n`,
  })
  const { out } = await runTests([join(folder, 'plan.native')])
  assert.match(out, /PASS {2}plan\/create\.hcl/)
})

test('policy check: problems are shown with the source line and a caret', async (t) => {
  const folder = await aFolder(t, {
    'bad.native': 'import "time"\nmain = (1 +\n',
    'native.hcl': '',
  })
  const { written, terminal } = aTerminal()
  const file = join(folder, 'bad.native')
  assert.equal(await checkPolicies({ paths: [file], isJson: false, terminal }), 1)
  assert.match(written.err, /bad\.native:\d+:\d+: .*\n {2}\d \| .*\n {4}\| *\^/)
})

test('policy check: policies that can be evaluated are counted', async (t) => {
  const { written, terminal } = aTerminal()
  const paths = [await aFolder(t)]
  assert.equal(await checkPolicies({ paths, isJson: true, terminal }), 0)
  assert.deepEqual(JSON.parse(written.out), { valid: true, files: 3, problems: [] })
})

const EVALUATED: readonly (readonly [
  string,
  string,
  Readonly<Record<string, string>>,
  number,
  RegExp,
])[] = [
  ['a job that is too large', 'limits.native', {}, 1, /: fail\n {2}main is false\n.*6:16/s],
  ['a document of opa', 'deny.rego', {}, 1, /data\.jobs\.deny: fail\n {2}"a has 9"/],
  ['globals', 'g.native', { 'g.native': 'main = job.id is "web"' }, 0, /: pass/],
  ['an undefined verdict', 'u.native', { 'u.native': 'main = {}.x' }, 2, /came up at 1:10/],
  ['an error', 'e.native', { 'e.native': 'main = 1 + "x"' }, 3, /: error/],
  ['a policy that is refused', 'r.native', { 'r.native': 'main = (' }, 9, /: refused/],
  ['a document that is not there', 'n.rego', { 'n.rego': 'package n' }, 2, /undefined/],
  ['what a policy prints', 'p.native', { 'p.native': 'main = print("hello")' }, 0, /^hello\n/],
]

for (const [name, file, more, wanted, said] of EVALUATED)
  test(`policy eval: ${name} is reported, with its exit code`, async (t) => {
    const folder = await aFolder(t, more)
    const { written, terminal } = aTerminal()
    const code = await evaluatePolicies({
      paths: [join(folder, file)],
      input: join(folder, 'job.json'),
      query: undefined,
      params: [],
      isJson: false,
      ...SETTINGS,
      terminal,
    })
    assert.match(written.out, said)
    assert.equal(code, wanted)
  })

test('policy eval: an expression has a value; a document must be a verdict', async (t) => {
  const rego = 'package a\n\nscore := 3\n\ndeny contains "no" if input.job.ID\n'
  const folder = await aFolder(t, { 'a.rego': rego })
  const evaluate = async (query: string) => {
    const { written, terminal } = aTerminal()
    const paths = [join(folder, 'a.rego')]
    const input = join(folder, 'job.json')
    const request = { paths, input, query, params: [], isJson: false, ...SETTINGS, terminal }
    return { code: await evaluatePolicies(request), out: written.out }
  }
  assert.deepEqual(await evaluate('count(data.a.deny)'), {
    code: 0,
    out: 'count(data.a.deny): value\n  1\n',
  })
  const score = await evaluate('data.a.score')
  assert.equal(score.code, 3)
  assert.match(score.out, /3: an array or a set is needed/)
  assert.equal((await evaluate('data.a.score > 2')).code, 0)
  assert.equal((await evaluate('[x | some x in data.a.deny]')).code, 1)
})

const PLAN = { format_version: '1.2', resource_changes: [{ type: 'bucket' }] }
const JOB = { ID: 'web', Namespace: 'shop', TaskGroups: [{ Name: 'a', Count: 9 }] }
const DOCUMENTS: readonly (readonly [string, unknown, number, RegExp])[] = [
  ['a plan in its member', { plan: PLAN, run: {} }, 1, /"bucket"/],
  ['a plan by itself', PLAN, 1, /"bucket"/],
  ['a job in its member', { job: JOB, namespace: 'shop' }, 1, /"web in shop"/],
  ['a job by itself', JOB, 1, /"web in shop"/],
  ['the request that registers a job', { Job: JOB }, 1, /"web in shop"/],
  ['neither a job nor a plan', { foo: 1 }, 9, /must have a plan or a job/],
  ['a list', [PLAN], 9, /must have a plan or a job/],
]
const BOTH = `package both

deny contains change.type if some change in input.plan.resource_changes

deny contains sprintf("%s in %s", [input.job.ID, input.namespace]) if input.job.TaskGroups
`

for (const [name, document, wanted, said] of DOCUMENTS)
  test(`policy eval: ${name} is read as on the server, or is an error`, async (t) => {
    const folder = await aFolder(t, { 'both.rego': BOTH, 'given.json': JSON.stringify(document) })
    const { written, terminal } = aTerminal()
    const code = await evaluatePolicies({
      paths: [join(folder, 'both.rego')],
      input: join(folder, 'given.json'),
      query: undefined,
      params: [],
      isJson: false,
      ...SETTINGS,
      terminal,
    })
    assert.match(written.out + written.err, said)
    assert.equal(code, wanted)
  })

test('policy eval: parameters are JSON or strings, and the output may be JSON', async (t) => {
  const folder = await aFolder(t, {
    'p.native': 'param a\nparam b\nmain = rule { a is [1] and b is "x y" }\n',
  })
  const { written, terminal } = aTerminal()
  await evaluatePolicies({
    paths: [join(folder, 'p.native')],
    input: undefined,
    query: undefined,
    params: ['a=[1]', 'b=x y'],
    isJson: true,
    ...SETTINGS,
    terminal,
  })
  const { result, policies } = JSON.parse(written.out)
  assert.equal(result, true)
  assert.deepEqual(policies[0].trace.rules.main.position.line, 3)
  assert.equal(policies[0].trace.rules.main.value, true)
})

test('policy eval: large integers keep their digits in JSON', async (t) => {
  const folder = await aFolder(t, { 'p.rego': 'package p\nlarge := 9007199254740993 + 0\n' })
  const { written, terminal } = aTerminal()
  await evaluatePolicies({
    paths: [join(folder, 'p.rego')],
    input: undefined,
    query: 'data.p',
    params: [],
    isJson: true,
    ...SETTINGS,
    terminal,
  })
  assert.ok(written.out.includes('"value":{"large":9007199254740993}'), written.out)
  assert.doesNotThrow(() => JSON.parse(written.out))
})

test('policy fmt: files are formatted once, and unchanged with --check', async (t) => {
  const folder = await aFolder(t, { 'ugly.native': 'main=1  is 1' })
  const { written, terminal } = aTerminal()
  assert.equal(await formatPolicies({ paths: [folder], isCheckOnly: true, terminal }), 1)
  assert.match(written.out, /ugly\.native/)
  assert.equal(await readFile(join(folder, 'ugly.native'), 'utf8'), 'main=1  is 1')
  assert.equal(await formatPolicies({ paths: [folder], isCheckOnly: false, terminal }), 0)
  assert.equal(await readFile(join(folder, 'ugly.native'), 'utf8'), 'main = 1 is 1\n')
  assert.equal(await formatPolicies({ paths: [folder], isCheckOnly: true, terminal }), 0)
})

test('policy fmt: both languages in all folders; errors have a location', async (t) => {
  const folder = await aFolder(t, {
    'a.rego': 'package a\np if {b;c}',
    'b.rego': 'package b\np :=',
  })
  const { written, terminal } = aTerminal()
  assert.equal(await formatPolicies({ paths: [folder], isCheckOnly: false, terminal }), 1)
  assert.match(written.err, /b\.rego:2:5: /)
  assert.match(written.out, /a\.rego/)
  const formatted = await readFile(join(folder, 'a.rego'), 'utf8')
  assert.equal(formatted, 'package a\n\np if {\n\tb\n\tc\n}\n')
})

test('policy tools: a path without policies is an error', async (t) => {
  const { written, terminal } = aTerminal()
  const paths = [await temporaryDirectory(t)]
  assert.equal(await checkPolicies({ paths, isJson: false, terminal }), 1)
  assert.match(written.err, /There is no policy/)
})

test('policy test: a manifest with another name is found if it lists policies', async (t) => {
  const folder = await aFolder(t)
  await rename(join(folder, 'native.hcl'), join(folder, 'other.hcl'))
  const { code, out } = await runTests([folder])
  assert.match(out, /PASS {2}limits\/large\.json/)
  assert.equal(code, 0)
})

test('policy test: other files of the same language are ignored', async (t) => {
  const folder = await temporaryDirectory(t)
  await mkdir(join(folder, 'test/a'), { recursive: true })
  await writeFile(join(folder, 'a.native'), 'main = true\n')
  await writeFile(join(folder, 'web.hcl'), 'job "web" {\n  type = "service"\n}\n')
  await writeFile(join(folder, 'test/a/pass.json'), '{}')
  const { code, out } = await runTests([folder])
  assert.match(out, /PASS {2}a\/pass\.json/)
  assert.equal(code, 0)
})

test('policy check: the query of a set may omit `data.`', async (t) => {
  const folder = await aFolder(t, {
    'policies.hcl': 'policy "deny" {\n  query = "jobs.deny"\n}\n',
  })
  const { written, terminal } = aTerminal()
  assert.equal(await checkPolicies({ paths: [folder], isJson: false, terminal }), 0, written.err)
})

test('policy check: the query of a set must be valid', async (t) => {
  const folder = await aFolder(t, {
    'policies.hcl': 'policy "deny" {\n  query = "data.jobs["\n}\n',
  })
  const { written, terminal } = aTerminal()
  assert.equal(await checkPolicies({ paths: [folder], isJson: false, terminal }), 1)
  assert.match(written.err, /query of "deny"/)
})

test('policy test: a directory without tests is reported', async (t) => {
  const folder = await temporaryDirectory(t)
  await writeFile(join(folder, 'a.native'), 'main = true\n')
  const { code, err } = await runTests([folder])
  assert.equal(err, 'There are no tests.\n')
  assert.equal(code, 1)
})
