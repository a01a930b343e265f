import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const tools = dirname(fileURLToPath(import.meta.url))

const PASSING = `import { test } from 'node:test'
test('adds', () => {})
test.skip('subtracts', () => {})
console.log('noise of a passing file')
`
const FAILING = `import { describe, test } from 'node:test'
describe('numbers', () => {
  test('divides', () => { console.log('noise of a failing file'); throw new Error('by zero') })
  test('outer', async (t) => { await t.test('inner', () => { throw new Error('deep') }) })
})
`

/** Runs `npm test` of a repository that holds these files, and no static checks. */
function runTests(t: TestContext, files: Readonly<Record<string, string>>, args: string[] = []) {
  const root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'reeve-test-run-')))
  t.after(() => fs.rmSync(root, { recursive: true, force: true }))
  for (const name of ['test.mjs', 'test-files.mjs', 'reporter.mjs', 'run'])
    fs.cpSync(join(tools, name), join(root, 'tools', name), { recursive: true })
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(dirname(join(root, name)), { recursive: true })
    fs.writeFileSync(join(root, name), text)
  }
  // The runner refuses to run inside itself as long as this mark is there.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const options = { encoding: 'utf8', env } as const
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, 'tools/test.mjs'), ...args],
    options,
  )
  return { status, stdout, lastLine: stdout.trimEnd().split('\n').at(-1) }
}

const unit = 'packages/a/src/a.test.ts'
const api = 'packages/a/test/api/b.test.ts'
/** In one process with others of its kind. */
const shared = 'packages/reeve/test/api/b.test.ts'

test('test run: the last line sums all runs', (t) => {
  const { status, stdout, lastLine } = runTests(t, { [unit]: PASSING, [api]: PASSING })
  assert.equal(lastLine, '2 passed, 0 failed')
  assert.equal(status, 0)
  assert.match(stdout, /\n2 skipped\n/)
  assert.match(stdout, /✓ packages\/a\/test\/api\/b\.test\.ts {2}2 tests/)
})

test('test run: a failure is shown in full with the output of its file', (t) => {
  const { status, stdout, lastLine } = runTests(t, { [unit]: PASSING, [api]: FAILING })
  assert.equal(lastLine, '1 passed, 3 failed')
  assert.equal(status, 1)
  assert.match(
    stdout,
    /✗ numbers › divides\n {2}packages\/a\/test\/api\/b\.test\.ts:3:3\n.*by zero/,
  )
  assert.match(stdout, /✗ numbers › outer › inner/)
  assert.match(stdout, /noise of a failing file/)
  assert.doesNotMatch(stdout, /noise of a passing file/)
})

const BUSY = `import { test } from 'node:test'
import fs from 'node:fs'
test('waits', () => {
  if (fs.existsSync('second-time')) return
  fs.writeFileSync('second-time', '')
  throw new Error('too late')
})
`

for (const file of [api, shared])
  test(`test run: ${file}, failed beside others, counts as it ends by itself`, (t) => {
    const { status, stdout, lastLine } = runTests(t, { [unit]: PASSING, [file]: BUSY })
    assert.equal(lastLine, '2 passed, 0 failed')
    assert.equal(status, 0)
    assert.match(stdout, /too late/)
    assert.ok(stdout.includes(`Failed beside others; again, one by one: ${file}\n`), stdout)
  })

test('test run: a file that does not load is a failure', (t) => {
  const { status, stdout, lastLine } = runTests(t, {
    [unit]: PASSING,
    [api]: "throw new Error('cannot load')",
  })
  assert.equal(lastLine, '1 passed, 1 failed')
  assert.equal(status, 1)
  assert.match(stdout, /cannot load/)
})

test('test run: no tests at all is a failure', (t) => {
  const { status, stdout, lastLine } = runTests(t, { [unit]: '' })
  assert.match(stdout, /No tests ran/)
  assert.equal(lastLine, '0 passed, 0 failed')
  assert.equal(status, 1)
})

const filters: readonly [filter: string, lastLine: string][] = [
  ['packages/a/src', '1 passed, 0 failed'],
  ['./packages/a/src/a.test.ts', '1 passed, 0 failed'],
  ['divides', '0 passed, 1 failed'],
  ['adds', '1 passed, 0 failed'],
  ['flies', '0 passed, 0 failed'],
]
for (const [filter, lastLine] of filters)
  test(`test run: filtered by ${filter} it is ${lastLine}`, (t) => {
    const run = runTests(t, { [unit]: PASSING, [api]: FAILING }, [filter])
    assert.equal(run.lastLine, lastLine)
    assert.equal(run.status, lastLine.startsWith('1') ? 0 : 1)
  })
