import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const tools = dirname(dirname(fileURLToPath(import.meta.url)))

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
  for (const name of ['test.ts', 'test-process.ts', 'test', 'source'])
    fs.cpSync(join(tools, name), join(root, 'tools', name), {
      recursive: true,
      filter: (file) => !file.endsWith('.test.ts'),
    })
  for (const [name, text] of Object.entries(files)) {
    fs.mkdirSync(dirname(join(root, name)), { recursive: true })
    fs.writeFileSync(join(root, name), text)
  }
  // The runner refuses to run inside itself as long as this mark is there.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const options = { encoding: 'utf8', env: { ...env, REEVE_TEST_EXIT_MS: '1000' } } as const
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'tools/test.ts'), ...args],
    options,
  )
  return { root, status, stdout, stderr, lastLine: stdout.trimEnd().split('\n').at(-1) }
}

const unit = 'packages/a/src/a.test.ts'
const api = 'packages/a/test/api/b.test.ts'
/** In one process with others of its kind. */
const shared = 'packages/reeve/test/api/b.test.ts'
/** In the same process as `shared`. */
const neighbour = 'packages/reeve/test/api/c.test.ts'

test('test run: the last line sums all runs', (t) => {
  const { status, stdout, lastLine } = runTests(t, { [unit]: PASSING, [api]: PASSING })
  assert.equal(lastLine, '2 passed, 0 failed')
  assert.equal(status, 0)
  assert.match(stdout, /\n2 skipped\n/)
  assert.match(stdout, /✓ packages\/a\/test\/api\/b\.test\.ts {2}2 tests/)
})

test('test run: a file with hooks of its own has a process of its own', (t) => {
  const hooked = `import { after, test } from 'node:test'
globalThis.mark = 'set'
after(() => {})
test('uses the mark', () => {})
`
  const other = `import { test } from 'node:test'
test('has no mark', () => { if (globalThis.mark !== undefined) throw new Error('shared') })
`
  assert.equal(runTests(t, { [shared]: hooked, [neighbour]: other }).status, 0)
  const plain = hooked.replace('after(() => {})', '')
  assert.equal(runTests(t, { [shared]: plain, [neighbour]: other }).status, 1)
})

const SLOW = `import { test } from 'node:test'
test('computes', () => { for (const endMs = Date.now() + 1_500; Date.now() < endMs; ); })
`

test('test run: the slowest files come last, with the time that they took of a processor', (t) => {
  const { stdout } = runTests(t, { [unit]: PASSING, [api]: SLOW })
  const lines = /Slowest files: seconds, processor seconds\n([^]*?)\n\n/.exec(stdout)?.[1] ?? ''
  const [first = [], , sum = []] = lines.split('\n').map((line) => line.trim().split(/ +/))
  assert.deepEqual([first.at(-1), sum.slice(2).join(' ')], [api, 'all 2 files'])
  assert.ok(Number(first[0]) >= 1.5, `${String(first[0])} s`)
  assert.ok(Number(first[1]) > 0.1, `${String(first[1])} s of a processor`)
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

test('test run: every failure is repeated briefly in the last lines', (t) => {
  const { stdout } = runTests(t, { [unit]: PASSING, [api]: FAILING })
  const end = /\nFailures:\n([^]*)$/.exec(stdout)?.[1] ?? ''
  assert.match(end, /✗ numbers › divides\n {2}packages\/a\/test\/api\/b\.test\.ts:3:3\n.*by zero/)
  assert.equal(end.match(/^✗ /gm)?.length, 2)
})

for (const path of ['packages/a/src/none.test.ts', './packages/b/', 'none.ts'])
  test(`test run: ${path} matches no file, which is an error`, (t) => {
    const { status, stdout, stderr } = runTests(t, { [unit]: PASSING }, [path, unit])
    assert.deepEqual([status, stdout], [1, ''])
    assert.equal(stderr, `No test file matches ${path.replace('./', '')}\n`)
  })

const FAILS_ONCE = `import { test } from 'node:test'
import fs from 'node:fs'
test('waits', () => {
  if (fs.existsSync('second-time')) return
  fs.writeFileSync('second-time', '')
  throw new Error('too late')
})
`

for (const file of [api, shared])
  test(`test run: ${file} is not run again after a failure`, (t) => {
    const { status, stdout, lastLine } = runTests(t, { [unit]: PASSING, [file]: FAILS_ONCE })
    assert.equal(lastLine, '1 passed, 1 failed')
    assert.equal(status, 1)
    assert.match(stdout, /too late/)
  })

const DECLARES_LAST = `import { test } from 'node:test'
test('sees what is declared below', () => { new Last() })
class Last {}
`

for (const file of [api, shared])
  test(`test run: ${file} is imported to its end before its tests begin`, (t) => {
    const files = { [file]: DECLARES_LAST, [neighbour]: DECLARES_LAST }
    assert.equal(runTests(t, files).lastLine, '2 passed, 0 failed')
  })

const LOADS_IN_PART = `import { test } from 'node:test'
test('adds', () => {})
throw new Error('cannot load')
`
for (const file of [api, shared])
  for (const text of ["throw new Error('cannot load')", LOADS_IN_PART, 'import "./missing.ts"'])
    test(`test run: ${file} fails when it cannot be imported: ${text}`, (t) => {
      const { status, stdout, lastLine } = runTests(t, { [file]: text, [neighbour]: PASSING })
      assert.equal(lastLine, `${text === LOADS_IN_PART ? 2 : 1} passed, 1 failed`)
      assert.equal(status, 1)
      assert.ok(stdout.includes(`✗ the file itself\n  ${file}\n`), stdout)
      assert.match(stdout, / {4}Error.*(cannot load|missing\.ts)/)
    })

for (const file of [unit, api, shared])
  test(`test run: ${file} fails when it registers no test`, (t) => {
    const text = "import { describe } from 'node:test'\ndescribe('nothing', () => {})\n"
    const { status, stdout, lastLine } = runTests(t, { [file]: text, [neighbour]: PASSING })
    assert.equal(lastLine, '1 passed, 1 failed')
    assert.equal(status, 1)
    assert.ok(
      stdout.includes(`✗ the file itself\n  ${file}\n    The file registers no test.\n`),
      stdout,
    )
  })

test('test run: a failure inside a suite of another file counts for the test file', (t) => {
  const { status, stdout, lastLine } = runTests(t, {
    'packages/reeve/test/suites/numbers.ts': FAILING.replace(
      'describe(',
      'export const run = () => describe(',
    ),
    [shared]: "import { run } from '../suites/numbers.ts'\nrun()\n",
    [neighbour]: PASSING,
  })
  assert.equal(lastLine, '1 passed, 3 failed')
  assert.equal(status, 1)
  assert.ok(stdout.includes(`✗ ${shared}  `), stdout)
})

test('test run: a process that exits early fails its files, one that throws late fails them too', (t) => {
  const { status, stdout, lastLine } = runTests(t, {
    [shared]: "import { test } from 'node:test'\ntest('ends all', () => process.exit(0))\n",
    [neighbour]: PASSING,
    [api]: `import 'node:child_process'\n${PASSING}process.once('beforeExit', () => { throw new Error('too late') })\n`,
  })
  assert.equal(lastLine, '1 passed, 3 failed')
  assert.equal(status, 1)
  assert.ok(
    stdout.includes(
      `  ${neighbour}\n    The process exited before the tests of the file had ended.`,
    ),
    stdout,
  )
  assert.match(stdout, /too late/)
})

const OPEN = `import { test } from 'node:test'
import { createServer } from 'node:http'
import { once } from 'node:events'
test('leaves a timer', () => { setInterval(() => {}, 1e6) })
test('leaves a server', async () => {
  await once(createServer().listen(0, '127.0.0.1'), 'listening')
  throw new Error('before the server is closed')
})
`
const TIMER = `import { test } from 'node:test'
test('leaves a timer', () => { setInterval(() => {}, 1e6) })
`

test('test run: a process with open resources exits, and the file is named', (t) => {
  const { status, stdout, lastLine } = runTests(t, {
    ['packages/reeve/test/api/a.test.ts']: PASSING,
    [shared]: OPEN,
    [neighbour]: PASSING,
    [api]: TIMER,
  })
  assert.equal(lastLine, '4 passed, 1 failed')
  assert.equal(status, 1)
  const leak = (file: string, types: string) =>
    `! ${file} left resources open (${types}); its process was ended.\n`
  assert.ok(stdout.includes(leak(shared, 'TCPServerWrap, Timeout')), stdout)
  assert.ok(stdout.includes(leak(api, 'Timeout')), stdout)
  assert.doesNotMatch(stdout, /[ac]\.test\.ts left/)
})

const SLOW_HOOK = `import { after, test } from 'node:test'
import fs from 'node:fs'
test('adds', () => {})
after(async () => {
  await new Promise((resolve) => setTimeout(resolve, 2_000))
  fs.writeFileSync('stopped', '')
})
setInterval(() => {}, 1e6)
`

test('test run: hooks end before their process is ended', (t) => {
  const { lastLine, stdout, root } = runTests(t, { [api]: SLOW_HOOK })
  assert.equal(lastLine, '1 passed, 0 failed')
  assert.match(stdout, /b\.test\.ts left resources open \(Timeout\)/)
  assert.ok(fs.existsSync(join(root, 'stopped')))
})

test('test run: an open resource alone is reported and fails nothing', (t) => {
  const { status, stdout, lastLine } = runTests(t, { [shared]: TIMER })
  assert.equal(lastLine, '1 passed, 0 failed')
  assert.equal(status, 0)
  assert.match(stdout, /b\.test\.ts left resources open \(Timeout\)/)
})

test('test run: no tests at all is a failure', (t) => {
  const { status, stdout, lastLine } = runTests(t, {})
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
