import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { temporaryDirectory } from '../../test/build/temporary-directory.ts'
import { evaluatePolicies, testPolicies } from './index.ts'

const nowNs = 1_772_600_767_000_000_000n
const SETTINGS = {
  settings: { time: { nowNs, zone: 'UTC', offsetSeconds: () => 0 }, version: '1.0.0' },
  rego: { nowNs, random: () => 0 },
}

type Files = Readonly<Record<string, string>>

async function aFolder(t: TestContext, files: Files): Promise<string> {
  const folder = await temporaryDirectory(t)
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
  return folder
}

function aTerminal() {
  const written: string[] = []
  const write = (text: string) => void written.push(text)
  return { written, terminal: { out: write, err: write } }
}

async function runTests(folder: string, only?: string) {
  const { written, terminal } = aTerminal()
  const request = {
    paths: [folder],
    only,
    withCoverage: true,
    isJson: false,
    ...SETTINGS,
    terminal,
  }
  const code = await testPolicies(request)
  return { code, lines: written.join('').replaceAll(`${folder}/`, '').trimEnd().split('\n') }
}

const RUN_DATA = 'data = { is_destroy = true }'
const DESTROYS = 'import "tfrun" as r\nmain = r.is_destroy\n'

test('policy test: a mock applies to every name of its import', async (t) => {
  const folder = await aFolder(t, {
    'new.native': 'import "run" as r\nmain = r.is_destroy\n',
    'test/new/old.hcl': `mock "tfrun" { ${RUN_DATA} }`,
    'old.native': DESTROYS,
    'test/old/both.hcl': `mock "run" { data = { is_destroy = false } }\nmock "tfrun" { ${RUN_DATA} }`,
    'test/old/module.hcl':
      'mock "run" {\n  module {\n    source = "../../mocks/run.native"\n  }\n}',
    'test/old/new.hcl': `mock "run" { ${RUN_DATA} }`,
    'mocks/run.native': 'is_destroy = true\n',
    'plan.native': 'import "plan/v2" as p\nmain = p.changes is 1\n',
    'test/plan/old.hcl': 'mock "tfplan/v2" { data = { changes = 1 } }',
  })
  const { code, lines } = await runTests(folder)
  assert.deepEqual(lines, [
    'PASS  new/old.hcl',
    'PASS  old/both.hcl',
    'PASS  old/module.hcl',
    'PASS  old/new.hcl',
    'PASS  plan/old.hcl',
    'new.native: 0 of 0 rules, 1 of 1 statements',
    'old.native: 0 of 0 rules, 1 of 1 statements',
    'plan.native: 0 of 0 rules, 1 of 1 statements',
    '5 tests: 5 passed, 0 failed',
  ])
  assert.equal(code, 0)
})

test('policy test: imports of a test case override those of the set by any name', async (t) => {
  const folder = await aFolder(t, {
    'native.hcl':
      'policy "old" { source = "./old.native" }\nmock "tfrun" { data = { is_destroy = false } }',
    'old.native': DESTROYS,
    'test/old/own.hcl': `mock "run" { ${RUN_DATA} }`,
  })
  const { code, lines } = await runTests(folder)
  assert.equal(code, 0, lines.join('\n'))
})

test('policy test: an unknown import is reported with its line', async (t) => {
  const folder = await aFolder(t, {
    'old.native': `# Nothing may be destroyed.\n\n${DESTROYS}`,
    'test/old/none.hcl': 'global "job" { value = 1 }',
  })
  const { lines } = await runTests(folder)
  assert.match(lines.join('\n'), /old\.native:3:1: the import "tfrun" is not there/)
})

test('policy test: coverage counts only the tests that ran', async (t) => {
  const folder = await aFolder(t, {
    'a.native': 'small = rule { x < 3 }\nmain = rule { small }\n',
    'test/a/low.hcl': 'global "x" { value = 1 }',
    'test/a/main.hcl': 'global "x" { value = 1 }\ntest { rules = { main = true } }',
    'a.rego': 'package a\n\nok := true\n',
    'a_test.rego': 'package a\n\ntest_ok if ok\n',
  })
  const { code, lines } = await runTests(folder, 'low')
  assert.deepEqual(lines, [
    'PASS  a/low.hcl',
    'a.native: 2 of 2 rules, 2 of 2 statements',
    'a.rego: 0 of 1 rules; not reached: lines 3',
    'a_test.rego: 0 of 1 rules; not reached: lines 3',
    '1 test: 1 passed, 0 failed',
  ])
  assert.equal(code, 0)
})

test('policy eval: a policy about plans is skipped for a job, as on the server', async (t) => {
  const folder = await aFolder(t, {
    'old.native': DESTROYS,
    'job.json': '{"job": {"ID": "web"}}',
    'plan.json': '{"plan": {"format_version": "1.2"}, "run": {"is_destroy": false}}',
  })
  const evaluate = async (input: string) => {
    const { written, terminal } = aTerminal()
    const code = await evaluatePolicies({
      paths: [join(folder, 'old.native')],
      input: join(folder, input),
      query: undefined,
      params: [],
      isJson: false,
      ...SETTINGS,
      terminal,
    })
    return [code, written.join('').replaceAll(`${folder}/`, '')]
  }
  assert.deepEqual(await evaluate('job.json'), [
    0,
    'old.native: pass\n  skipped: it is about a plan\n',
  ])
  assert.deepEqual(await evaluate('plan.json'), [1, 'old.native: fail\n  main is false\n'])
})
