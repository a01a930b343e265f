import assert from 'node:assert/strict'
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const tools = dirname(fileURLToPath(import.meta.url))

/** Stands for npm: records its arguments, waits while told to, fails when told to, or installs. */
const FAKE_NPM = `#!/bin/sh
echo "$*" >> calls.log
while [ -f hold ]; do sleep 0.02; done
[ -f broken ] && { echo 'npm error: no such registry' >&2; exit 3; }
mkdir -p node_modules/a
cp package-lock.json node_modules/.package-lock.json
`
const FAKE_COMMAND = `console.log(JSON.stringify(process.argv.slice(2)))
process.exitCode = Number(process.env.FAKE_EXIT ?? 0)
`
const FAKE_PROGRAM = `const [name]: string[] = process.argv.slice(2)
if (name === 'version') console.log('0.1.0')
else {
  process.on('SIGTERM', () => {
    console.log('stopping')
    process.exit(7)
  })
  setInterval(() => {}, 1_000)
  console.log(JSON.stringify(process.argv.slice(2)))
}
`

const FAKE_BUILD = `import * as fs from 'node:fs'
fs.mkdirSync('packages/reeve/dist', { recursive: true })
fs.writeFileSync('packages/reeve/dist/reeve.js', "import '../src/main/reeve.ts'")
`

interface Checkout {
  readonly root: string
  path(name: string): string
  write(name: string, text: string): void
  npmCalls(): string[]
  start(file: string, args: readonly string[], env?: NodeJS.ProcessEnv): ChildProcess
  run(command: string, args?: readonly string[], env?: NodeJS.ProcessEnv): Promise<Ended>
}

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** A checkout that holds the bootstrap and nothing it starts, with a stand-in for npm. */
function aCheckout(t: TestContext): Checkout {
  const root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'reeve-bootstrap-')))
  t.after(() => fs.rmSync(root, { recursive: true, force: true }))
  const path = (name: string) => join(root, name)
  const write = (name: string, text: string) => {
    fs.mkdirSync(dirname(path(name)), { recursive: true })
    fs.writeFileSync(path(name), text)
  }
  fs.cpSync(join(tools, '../bin'), path('bin'), { recursive: true })
  for (const name of ['bootstrap.mjs', 'install.mjs'])
    write(`tools/${name}`, fs.readFileSync(join(tools, name), 'utf8'))
  write('package.json', '{ "name": "root", "type": "module" }')
  write('package-lock.json', '{ "packages": { "": {}, "node_modules/a": { "version": "1" } } }')
  write('tools/test.ts', FAKE_COMMAND)
  write('tools/machine.ts', '')
  write('tools/build.ts', FAKE_BUILD)
  write('packages/reeve/src/main/reeve.ts', FAKE_PROGRAM)
  write('fake/npm', FAKE_NPM)
  fs.chmodSync(path('fake/npm'), 0o755)

  const start: Checkout['start'] = (file, args, env = {}) =>
    spawn(process.execPath, [path(file), ...args], { env: { ...cleanEnv(path('fake')), ...env } })
  return {
    root,
    path,
    write,
    start,
    npmCalls: () => {
      if (!fs.existsSync(path('calls.log'))) return []
      return fs.readFileSync(path('calls.log'), 'utf8').trim().split('\n')
    },
    run: (command, args = [], env = {}) =>
      ended(start('tools/bootstrap.mjs', [command, ...args], env)),
  }
}

/** Without what npm tells its scripts, and without the mark of the test runner around us. */
function cleanEnv(fake: string): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([key]) => !/^(?:npm_|NODE_|INIT_CWD)/.test(key))
  return { ...Object.fromEntries(kept), PATH: ['/usr/bin', '/bin'].reduce(joinPath, fake) }
}

function joinPath(path: string, entry: string): string {
  return `${path}${delimiter}${entry}`
}

async function ended(child: ChildProcess): Promise<Ended> {
  const output = { stdout: '', stderr: '' }
  child.stdout?.on('data', (part) => (output.stdout += String(part)))
  child.stderr?.on('data', (part) => (output.stderr += String(part)))
  await once(child, 'close')
  return { code: child.exitCode, ...output }
}

/** Resolves when the stream has said the words. */
async function said(child: ChildProcess, words: string): Promise<void> {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (part) => (text += String(part)))
  }
  while (!text.includes(words)) {
    assert.equal(child.exitCode, null, `ended without saying "${words}": ${text}`)
    await Promise.race([
      ...[child.stdout, child.stderr].flatMap((stream) => (stream ? [once(stream, 'data')] : [])),
      once(child, 'close'),
    ])
  }
}

const FLAGS = '--no-audit --no-fund --loglevel=http --no-progress'
const INSTALL = `ci --include=dev ${FLAGS}`

test('bootstrap: the first run installs, the next one does not', async (t) => {
  const checkout = aCheckout(t)
  const first = await checkout.run('test')
  assert.equal(first.code, 0)
  assert.match(first.stderr, /^Installing packages, those of dev.*…\nInstalled in \d+ s\.\n$/)
  const second = await checkout.run('test')
  assert.equal(second.stderr, '')
  assert.deepEqual(checkout.npmCalls(), [INSTALL])
})

test('bootstrap: a changed lock file installs again, a touched one does not', async (t) => {
  const checkout = aCheckout(t)
  await checkout.run('test')
  fs.utimesSync(checkout.path('package-lock.json'), 1, 1)
  await checkout.run('test')
  assert.equal(checkout.npmCalls().length, 1)
  checkout.write('package-lock.json', '{ "packages": { "node_modules/a": { "version": "2" } } }')
  await checkout.run('test')
  assert.equal(checkout.npmCalls().length, 2)
})

test('bootstrap: a removed node_modules installs again', async (t) => {
  const checkout = aCheckout(t)
  await checkout.run('test')
  fs.rmSync(checkout.path('node_modules'), { recursive: true })
  await checkout.run('test')
  assert.equal(checkout.npmCalls().length, 2)
})

test('bootstrap: start installs what running needs, test adds the rest beside it', async (t) => {
  const checkout = aCheckout(t)
  const dev = '"node_modules/b": { "version": "1", "dev": true }'
  const lock = `{ "packages": { "": {}, "node_modules/a": { "version": "1" }, ${dev} } }`
  checkout.write('package-lock.json', lock)
  await checkout.run('reeve', ['version'])
  fs.writeFileSync(
    checkout.path('node_modules/.package-lock.json'),
    '{ "packages": { "node_modules/a": { "version": "1" } } }',
  )
  await checkout.run('reeve', ['version'])
  assert.deepEqual(checkout.npmCalls(), [`ci --omit=dev ${FLAGS}`])
  await checkout.run('test')
  // A server may run from what is there: nothing of it is removed.
  assert.deepEqual(checkout.npmCalls().slice(1), [`install --no-save --include=dev ${FLAGS}`])
})

test('bootstrap: an installation made by hand is taken as it is', async (t) => {
  const checkout = aCheckout(t)
  checkout.write('node_modules/a/package.json', '{}')
  checkout.write(
    'node_modules/.package-lock.json',
    '{ "packages": { "node_modules/a": { "version": "1" } } }',
  )
  const { code, stderr } = await checkout.run('test')
  assert.deepEqual([code, stderr, checkout.npmCalls()], [0, '', []])
})

test('bootstrap: an installation of other versions is not', async (t) => {
  const checkout = aCheckout(t)
  checkout.write('node_modules/a/package.json', '{}')
  checkout.write(
    'node_modules/.package-lock.json',
    '{ "packages": { "node_modules/a": { "version": "2" } } }',
  )
  await checkout.run('test')
  assert.deepEqual(checkout.npmCalls(), [INSTALL])
})

test('bootstrap: a failed installation shows why, runs nothing and is tried again', async (t) => {
  const checkout = aCheckout(t)
  checkout.write('broken', '')
  const { code, stdout, stderr } = await checkout.run('test')
  assert.equal(code, 1)
  assert.equal(stdout, '')
  assert.match(stderr, /no such registry[^]*npm ended with 3[^]*try again/)
  fs.rmSync(checkout.path('broken'))
  assert.equal((await checkout.run('test')).code, 0)
  assert.equal(checkout.npmCalls().length, 2)
})

test('bootstrap: two at once install once', async (t) => {
  const checkout = aCheckout(t)
  checkout.write('hold', '')
  const first = checkout.start('tools/bootstrap.mjs', ['test'])
  const firstEnded = ended(first)
  await said(first, 'Installing')
  const second = checkout.start('tools/bootstrap.mjs', ['test'])
  const secondEnded = ended(second)
  await said(second, 'Waiting for another installation')
  fs.rmSync(checkout.path('hold'))
  assert.deepEqual([(await firstEnded).code, (await secondEnded).code], [0, 0])
  assert.deepEqual(checkout.npmCalls(), [INSTALL])
})

const deadPid = spawnSync(process.execPath, ['-e', '0']).pid
const staleLocks = [
  { name: 'a process that ended', holder: String(deadPid) },
  { name: 'a process that ended before it wrote its id', holder: undefined },
]
for (const { name, holder } of staleLocks)
  test(`bootstrap: the lock of ${name} is taken over`, async (t) => {
    const checkout = aCheckout(t)
    fs.mkdirSync(checkout.path('.reeve/install.lock'), { recursive: true })
    if (holder === undefined) fs.utimesSync(checkout.path('.reeve/install.lock'), 1, 1)
    else checkout.write('.reeve/install.lock/pid', holder)
    const { code, stderr } = await checkout.run('test')
    assert.equal(code, 0)
    assert.doesNotMatch(stderr, /Waiting/)
    assert.equal(fs.existsSync(checkout.path('.reeve/install.lock')), false)
  })

/** Prints the error of the loader for a missing library. */
const NO_LIBRARY = `#!/bin/sh
echo "$0: error while loading shared libraries: libatomic.so.1: cannot open shared object file" >&2
exit 127
`

test('bootstrap: a runtime that does not start is replaced by a Node that is new enough', async (t) => {
  const checkout = aCheckout(t)
  checkout.write('node_modules/node/bin/node', NO_LIBRARY)
  fs.chmodSync(checkout.path('node_modules/node/bin/node'), 0o755)
  const env = cleanEnv(`${checkout.path('fake')}${delimiter}${dirname(process.execPath)}`)
  for (let time = 0; time < 2; time += 1) {
    const { code, stdout } = await ended(spawn(checkout.path('bin/reeve'), ['version'], { env }))
    assert.deepEqual([code, stdout], [0, '0.1.0\n'])
  }
})

test('bootstrap: with an older Node it says which package the runtime lacks', async (t) => {
  const checkout = aCheckout(t)
  checkout.write('node_modules/node/bin/node', NO_LIBRARY)
  fs.chmodSync(checkout.path('node_modules/node/bin/node'), 0o755)
  checkout.write('old.cjs', "Object.defineProperty(process.versions, 'node', { value: '20.1.0' })")
  const env = { NODE_OPTIONS: `--require ${checkout.path('old.cjs')}` }
  const { code, stderr } = await checkout.run('start', [], env)
  assert.equal(code, 1)
  assert.match(stderr, /needs libatomic\.so\.1.*apt-get install libatomic1.*or install Node 26/)
})

test('bootstrap: every launcher requires the Node that the program requires', () => {
  const root = dirname(tools)
  const text = (file: string): string => fs.readFileSync(join(root, file), 'utf8')
  const major = /"node": ">=(\d+)"/.exec(text('packages/reeve/package.json'))?.[1]
  assert.match(text('tools/bootstrap.mjs'), new RegExp(`RUNTIME_MAJOR_MIN = ${major}\n`))
  for (const file of ['packages/reeve/src/main/reeve.ts', 'packaging/npm-starter.js.txt'])
    assert.match(text(file), new RegExp(`NODE_MAJOR_MIN = ${major}\n`), file)
})

test('bootstrap: arguments and exit code pass through', async (t) => {
  const checkout = aCheckout(t)
  const { code, stdout } = await checkout.run('test', ['a b', '--c'], { FAKE_EXIT: '9' })
  assert.equal(code, 9)
  assert.equal(stdout, '["a b","--c"]\n')
})

test('bootstrap: start passes its flags on, and signals', async (t) => {
  const checkout = aCheckout(t)
  const child = checkout.start('tools/bootstrap.mjs', ['start', '--acl'])
  const outcome = ended(child)
  await said(child, '["agent","--dev","--acl"]')
  child.kill('SIGTERM')
  const { code, stdout } = await outcome
  assert.equal(code, 7)
  assert.match(stdout, /stopping/)
})

test('bootstrap: an unknown command says which there are', async (t) => {
  const { code, stderr } = await aCheckout(t).run('fly')
  assert.equal(code, 2)
  assert.match(
    stderr,
    /<start\|reeve\|dev\|build\|test\|check\|tidy\|arrows\|reference\|bench\|sim\|faults\|release\|release-check\|release-prepare\|release-figures\|proof\|format>/,
  )
})

test('bootstrap: bench runs by name, and says the names it knows', async (t) => {
  const checkout = aCheckout(t)
  checkout.write('packages/reeve/bench/rank.bench.ts', "console.log('ranked')")
  checkout.write('packages/reeve/bench/apply.bench.ts', "console.log('applied')")
  assert.equal((await checkout.run('bench')).stdout, 'applied\nranked\n')
  assert.equal((await checkout.run('bench', ['rank'])).stdout, 'ranked\n')
  const help = await checkout.run('bench', ['--help'])
  assert.deepEqual([help.code, /Known: (.*)/.exec(help.stdout)?.[1]], [0, 'apply, rank'])
  const unknown = await checkout.run('bench', ['fly'])
  assert.equal(unknown.code, 2)
  assert.match(unknown.stderr, /Known: apply, rank/)
})

test('bin/reeve: sets up the allocator of the program, and not that of its children', async (t) => {
  const directory = fs.mkdtempSync(join(tmpdir(), 'reeve-allocator-'))
  t.after(() => fs.rmSync(directory, { recursive: true }))
  const printing = join(directory, 'printing.cjs')
  const print =
    'console.log(process.env.MALLOC_MMAP_THRESHOLD_, process.env.MALLOC_TRIM_THRESHOLD_)'
  fs.writeFileSync(printing, `${print}\nprocess.on('exit', () => ${print})`)
  const run = async (given: NodeJS.ProcessEnv): Promise<string[]> => {
    const env = { ...process.env, NODE_OPTIONS: `--require ${printing}`, ...given }
    const { stdout } = await ended(spawn(join(tools, '../bin/reeve'), ['version'], { env }))
    const [atStart = '', version = '', atEnd = ''] = stdout.split('\n')
    assert.match(version, /^reeve \d/)
    return [atStart, atEnd]
  }
  assert.deepEqual(await run({}), ['262144 4194304', 'undefined undefined'])
  const chosen = await run({ MALLOC_MMAP_THRESHOLD_: '1000000' })
  assert.deepEqual(chosen, ['1000000 4194304', '1000000 undefined'])
})

test('bin/reeve: passes the flags of a server to servers only', async (t) => {
  const directory = fs.mkdtempSync(join(tmpdir(), 'reeve-flags-'))
  t.after(() => fs.rmSync(directory, { recursive: true }))
  const printing = join(directory, 'printing.cjs')
  fs.writeFileSync(printing, "console.log(process.execArgv.join(' '))")
  const env = { ...process.env, NODE_OPTIONS: `--require ${printing}` }
  const flagsOf = async (...words: readonly string[]): Promise<string | undefined> => {
    const { stdout } = await ended(spawn(join(tools, '../bin/reeve'), words, { env }))
    return stdout.split('\n')[0]
  }
  assert.equal(await flagsOf('job', '--help'), '--max-old-space-size-percentage=75')
  assert.match((await flagsOf('agent', '--help')) ?? '', /--expose-gc/)
})

test('bin/reeve: installs and builds first, then runs the program, also through a link', async (t) => {
  const checkout = aCheckout(t)
  const env = cleanEnv(`${checkout.path('fake')}${delimiter}${dirname(process.execPath)}`)
  fs.mkdirSync(checkout.path('elsewhere'))
  fs.symlinkSync(checkout.path('bin/reeve'), checkout.path('elsewhere/reeve'))
  for (const file of ['bin/reeve', 'elsewhere/reeve']) {
    const { code, stdout } = await ended(spawn(checkout.path(file), ['version'], { env }))
    assert.deepEqual([code, stdout], [0, '0.1.0\n'])
  }
  assert.deepEqual(checkout.npmCalls(), [`ci --omit=dev ${FLAGS}`])
})
