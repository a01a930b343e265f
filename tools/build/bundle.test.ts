import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { runInNewContext } from 'node:vm'
import { asciiCode, bundleProgram } from './bundle.ts'
import { DIST, isProgramUpToDate, PROGRAM, SOURCE } from './paths.ts'

const tools = dirname(dirname(fileURLToPath(import.meta.url)))
const MAIN = 'packages/reeve/src/main'

/** A small program that does what the real one does: loads late, starts a thread, finds files. */
const SOURCES: Readonly<Record<string, string>> = {
  [SOURCE]: `const [word]: string[] = process.argv.slice(2)
const { said } = await import('./said.ts')
console.log(JSON.stringify(await said(word ?? '')))
`,
  [`${MAIN}/said.ts`]: `import { Worker } from 'node:worker_threads'
import { ROOT } from './installation.ts'
import { fail } from '../kit/fail.ts'

export async function said(word: string): Promise<object> {
  const worker = new Worker(new URL('../kit/thread.ts', import.meta.url))
  const [heard] = await new Promise<unknown[]>((resolve) => worker.once('message', (...all) => resolve(all)))
  return { word, root: ROOT, heard, stack: stackOf(fail), started: process.argv[1] }
}

function stackOf(run: () => void): string {
  try {
    run()
  } catch (thrown) {
    return thrown instanceof Error ? String(thrown.stack) : ''
  }
  return ''
}
`,
  [`${MAIN}/installation.ts`]: `import { join } from 'node:path'
export const ROOT = join(import.meta.dirname, '../../../..')
`,
  'packages/reeve/src/kit/fail.ts': `interface Unused { readonly a: string }

export function fail(): void {
  throw new Error('on line four')
}
`,
  'packages/reeve/src/kit/thread.ts': `import { parentPort } from 'node:worker_threads'
import { fail } from './fail.ts'

try {
  fail()
} catch (thrown) {
  parentPort?.postMessage(thrown instanceof Error ? thrown.stack : '')
}
`,
}

interface Checkout {
  readonly root: string
  readonly path: (name: string) => string
  readonly write: (name: string, text: string) => void
  /** The output of the program: its build, or this file. */
  readonly run: (word: string, file?: string) => Record<string, string>
}

/** A checkout with that program and the tools that bundle it. */
function aCheckout(t: TestContext): Checkout {
  const root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'reeve-program-')))
  t.after(() => fs.rmSync(root, { recursive: true, force: true }))
  const path = (name: string) => join(root, name)
  const write = (name: string, text: string) => {
    fs.mkdirSync(dirname(path(name)), { recursive: true })
    fs.writeFileSync(path(name), text)
  }
  for (const name of ['build', 'source', 'build.ts'])
    fs.cpSync(join(tools, name), path(`tools/${name}`), { recursive: true })
  for (const name of ['package.json', ...['contract', 'sdk', 'reeve'].map(packageFile)])
    write(name, '{ "type": "module" }')
  write('package-lock.json', '{}')
  for (const [name, text] of Object.entries(SOURCES)) write(name, text)
  fs.mkdirSync(path('node_modules'))
  fs.symlinkSync(join(tools, '../node_modules/rolldown'), path('node_modules/rolldown'))
  return {
    root,
    path,
    write,
    run: (word, file = PROGRAM) => {
      const { stdout, stderr } = spawnSync(process.execPath, [path(file), word])
      assert.equal(String(stderr), '')
      return JSON.parse(String(stdout))
    },
  }
}

function packageFile(name: string): string {
  return `packages/${name}/package.json`
}

test('the bundle runs as the sources do: late parts, threads, files and stacks', async (t) => {
  const checkout = aCheckout(t)
  const before = checkout.run('hello', SOURCE)
  await bundleProgram(checkout.root)
  const after = checkout.run('hello')
  assert.equal(after['started'], checkout.path(PROGRAM))
  for (const said of [before, after]) {
    assert.equal(said['root'], checkout.root)
    const place = `${checkout.path('packages/reeve/src/kit/fail.ts')}:4:`
    assert.ok(said['stack']?.includes(place), said['stack'])
    assert.ok(said['heard']?.includes(place), said['heard'])
  }
})

test('the bundle holds what the sources of plain data come to, and of the present ones', async (t) => {
  const checkout = aCheckout(t)
  checkout.write(SOURCE, PRINTS_DATA)
  const write = (word: string) =>
    checkout.write('packages/sdk/src/called-routes.ts', aDataSource(word))
  for (const word of ['first', 'second']) {
    write(word)
    await bundleProgram(checkout.root)
    const { words, madeBy } = checkout.run('')
    assert.deepEqual(words, [word])
    assert.notEqual(madeBy, 'the program')
  }
})

const PRINTS_DATA = `globalThis.isProgram = true
const { words, madeBy } = await import('../../../sdk/src/called-routes.ts')
console.log(JSON.stringify({ words, madeBy }))
`

function aDataSource(word: string): string {
  return `export const words: readonly string[] = ['${word}']
export const madeBy = Reflect.get(globalThis, 'isProgram') === true ? 'the program' : 'the bundler'
`
}

const CHANGES: readonly {
  readonly name: string
  readonly change: (checkout: Checkout) => void
  readonly isOld: boolean
}[] = [
  {
    name: 'a changed source',
    change: ({ path }) => fs.utimesSync(path(`${MAIN}/said.ts`), later, later),
    isOld: true,
  },
  {
    name: 'a removed source',
    change: ({ path }) => {
      fs.rmSync(path('packages/reeve/src/kit/thread.ts'))
      fs.utimesSync(path('packages/reeve/src/kit'), later, later)
    },
    isOld: true,
  },
  {
    name: 'another package lock',
    change: ({ path }) => fs.utimesSync(path('package-lock.json'), later, later),
    isOld: true,
  },
  {
    name: 'a removed build',
    change: ({ path }) => fs.rmSync(path(PROGRAM)),
    isOld: true,
  },
  {
    name: 'a test',
    change: ({ path, write }) => {
      write(`${MAIN}/said.test.ts`, '')
      fs.utimesSync(path(MAIN), 1, 1)
    },
    isOld: false,
  },
]
const later = Date.now() / 1_000 + 60

for (const { name, change, isOld } of CHANGES)
  test(`${name} ${isOld ? 'makes' : 'does not make'} the build old`, async (t) => {
    const checkout = aCheckout(t)
    assert.equal(isProgramUpToDate(checkout.root), false)
    await bundleProgram(checkout.root)
    assert.equal(isProgramUpToDate(checkout.root), true)
    change(checkout)
    assert.equal(isProgramUpToDate(checkout.root), !isOld)
  })

test('a program that runs keeps its build; very old builds are removed', async (t) => {
  const checkout = aCheckout(t)
  const names: string[] = []
  for (let round = 0; round < 10; round += 1) {
    checkout.write(SOURCE, `console.log(${round})`)
    await bundleProgram(checkout.root)
    const name = nameOfBuild(checkout)
    // One after the other, also where times are coarse.
    fs.utimesSync(checkout.path(`${DIST}/${name}`), round + 1, round + 1)
    names.push(name)
  }
  const kept = names.map((name) => fs.existsSync(checkout.path(`${DIST}/${name}`)))
  assert.deepEqual(kept, [false, false, ...Array<boolean>(8).fill(true)])
})

function nameOfBuild({ path }: Checkout): string {
  return /'\.\/(\w+)\//.exec(fs.readFileSync(path(PROGRAM), 'utf8'))?.[1] ?? ''
}

test('the same sources give the same build, also to two at once', async (t) => {
  const checkout = aCheckout(t)
  const { root } = checkout
  await Promise.all([bundleProgram(root), bundleProgram(root)])
  const name = nameOfBuild(checkout)
  await bundleProgram(root)
  assert.equal(nameOfBuild(checkout), name)
  const mode = fs.statSync(checkout.path(`${DIST}/${name}`)).mode
  assert.equal(mode, fs.statSync(checkout.path(MAIN)).mode, 'open to whom the sources are')
  assert.deepEqual(new Set(fs.readdirSync(checkout.path(DIST))), new Set([name, 'reeve.js']))
  assert.equal(checkout.run('again')['word'], 'again')
})

test('a source that asks where it lies is rejected: in a build it lies elsewhere', async (t) => {
  const checkout = aCheckout(t)
  checkout.write('packages/reeve/src/kit/fail.ts', 'export const fail = () => import.meta.dirname')
  await assert.rejects(
    bundleProgram(checkout.root),
    /kit\/fail\.ts asks where it lies.*from the installation/s,
  )
  assert.equal(fs.existsSync(checkout.path(DIST)), false)
})

test('build: a source that does not parse fails with its place, in plain text', (t) => {
  const checkout = aCheckout(t)
  checkout.write('packages/reeve/src/kit/thread.ts', 'export const a = (')
  const args = [checkout.path('tools/build.ts'), '--program']
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  assert.deepEqual([status, stdout], [1, ''])
  assert.match(stderr, /^Building the program…\nThe program could not be built\.\n.*thread\.ts/s)
  assert.ok(!stderr.includes('\u001b'), 'plain text')
})

const codes = [
  { name: 'a text', code: "'\u00fcber \u2192'" },
  { name: 'a character outside of the basic plane', code: "'\u{1f600}'" },
  { name: 'a template', code: '`\u00e4${1}\u20ac`' },
  { name: 'a character that is escaped as itself', code: "'\\\u00e9\\\\\u00e9'" },
  { name: 'a pattern', code: "'a\u00e9\u{1f600}'.match(/[\u00e9]|[\u{1f600}-\u{1f64f}]/gu)" },
  { name: 'a name', code: '(() => { const gr\u00f6\u00dfe = 3; return gr\u00f6\u00dfe })()' },
]
for (const { name, code } of codes)
  test(`bundle: ${name} means the same in ASCII`, () => {
    const ascii = asciiCode(code)
    assert.doesNotMatch(ascii, /[\u0080-\uffff]/)
    assert.deepEqual(evaluated(ascii), evaluated(code))
  })

function evaluated(code: string): unknown {
  // Arrays of another context are not equal to those of this one.
  return JSON.parse(runInNewContext(`JSON.stringify(${code})`))
}

test('bundle: a raw template beyond ASCII is refused, an escape would change it', () => {
  assert.throws(() => asciiCode('String.raw`\u00e9`'), /write it as an escape/)
})
