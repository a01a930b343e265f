import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { bundleProgram } from './program/bundle.ts'
import { findBundle, findProgram, SOURCE } from './setup/program.cjs'
import { setUpProgram } from './setup/program.mjs'

const tools = dirname(fileURLToPath(import.meta.url))
const MAIN = 'packages/reeve/src/main'

/** A small program that does what the real one does: loads late, starts a thread, finds files. */
const SOURCES: Readonly<Record<string, string>> = {
  [SOURCE]: `const [word]: string[] = process.argv.slice(2)
const { said } = await import('./said.ts')
console.log(JSON.stringify(await said(word ?? '')))
`,
  [`${MAIN}/said.ts`]: `import { Worker } from 'node:worker_threads'
import { PRODUCT_ROOT } from './product-root.ts'
import { fail } from '../kit/fail.ts'

export async function said(word: string): Promise<object> {
  const worker = new Worker(new URL('../kit/thread.ts', import.meta.url))
  const [heard] = await new Promise<unknown[]>((resolve) => worker.once('message', (...all) => resolve(all)))
  return { word, root: PRODUCT_ROOT, heard, stack: stackOf(fail), started: process.argv[1] }
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
  [`${MAIN}/product-root.ts`]: `import { join } from 'node:path'
export const PRODUCT_ROOT = join(import.meta.dirname, '../../../..')
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
  /** What the program says, started as tests start it. */
  readonly run: (word: string) => Record<string, string>
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
  for (const name of ['setup', 'program', 'source'])
    fs.cpSync(join(tools, name), path(`tools/${name}`), { recursive: true })
  for (const name of ['start.cjs', 'build-program.ts'])
    fs.copyFileSync(join(tools, name), path(`tools/${name}`))
  for (const name of ['package.json', ...['contract', 'sdk', 'reeve'].map(packageFile)])
    write(name, '{ "type": "module" }')
  write('package-lock.json', '{}')
  for (const [name, text] of Object.entries(SOURCES)) write(name, text)
  fs.mkdirSync(path('node_modules'))
  return {
    root,
    path,
    write,
    run: (word) => {
      const { stdout, stderr } = spawnSync(process.execPath, [path('tools/start.cjs'), word])
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
  const before = checkout.run('hello')
  const entry = await bundleProgram(checkout.root)
  const after = checkout.run('hello')
  assert.equal(before['started'], checkout.path(SOURCE))
  assert.equal(after['started'], checkout.path(entry))
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
    change: ({ write }) => write(`${MAIN}/said.ts`, 'export const said = () => 1'),
    isOld: true,
  },
  {
    name: 'one that was changed in the same moment to the same size',
    change: ({ path }) => {
      const file = path(`${MAIN}/said.ts`)
      const { atime, mtime } = fs.statSync(file)
      fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('word', 'ward'))
      fs.utimesSync(file, atime, mtime)
    },
    isOld: true,
  },
  {
    name: 'a removed source',
    change: ({ path }) => fs.rmSync(path('packages/reeve/src/kit/thread.ts')),
    isOld: true,
  },
  {
    name: 'a lock file of other packages',
    change: ({ write }) => write('package-lock.json', '{ }'),
    isOld: true,
  },
  {
    name: 'another way to bundle',
    change: ({ path }) => fs.appendFileSync(path('tools/program/bundle.ts'), '\n'),
    isOld: true,
  },
  {
    name: 'a damaged list',
    change: ({ write }) => write('packages/reeve/dist/made-from.json', '{ "entry": "a/reeve.js"'),
    isOld: true,
  },
  {
    name: 'a source that was written again as it was',
    change: ({ path }) => fs.utimesSync(path(SOURCE), 1, 1),
    isOld: false,
  },
  {
    name: 'a file that is not part of the program',
    change: ({ write }) => write(`${MAIN}/said.test.ts`, ''),
    isOld: false,
  },
]

for (const { name, change, isOld } of CHANGES)
  test(`${name} ${isOld ? 'makes' : 'does not make'} the bundle old`, async (t) => {
    const checkout = aCheckout(t)
    const entry = await bundleProgram(checkout.root)
    assert.equal(findProgram(checkout.root), checkout.path(entry))
    change(checkout)
    assert.equal(findProgram(checkout.root), checkout.path(isOld ? SOURCE : entry))
  })

test('a source with an old time on it is known by its time until it changes', async (t) => {
  const checkout = aCheckout(t)
  const file = checkout.path(`${MAIN}/said.ts`)
  fs.utimesSync(file, 1, 1)
  await bundleProgram(checkout.root)
  fs.appendFileSync(file, '\n')
  fs.truncateSync(file, fs.statSync(file).size - 1)
  assert.notEqual(findBundle(checkout.root), undefined, 'as it was')
  fs.writeFileSync(file, fs.readFileSync(file, 'utf8').replace('word', 'ward'))
  assert.equal(findBundle(checkout.root), undefined)
})

test('whoever runs keeps the bundle that it began with; very old ones go', async (t) => {
  const checkout = aCheckout(t)
  const entries: string[] = []
  for (let round = 0; round < 10; round += 1) {
    checkout.write('package-lock.json', `{ "round": ${round} }`)
    const entry = await bundleProgram(checkout.root)
    // One after the other, also where times are coarse.
    fs.utimesSync(dirname(checkout.path(entry)), round + 1, round + 1)
    entries.push(entry)
  }
  const kept = entries.map((entry) => fs.existsSync(checkout.path(entry)))
  assert.deepEqual(kept, [false, false, ...Array<boolean>(8).fill(true)])
})

test('the same sources give the same bundle, also to two at once', async (t) => {
  const checkout = aCheckout(t)
  const { root } = checkout
  const [first, second] = await Promise.all([bundleProgram(root), bundleProgram(root)])
  assert.equal(first, second)
  assert.equal(await bundleProgram(root), first)
  const mode = fs.statSync(dirname(checkout.path(first))).mode
  assert.equal(mode, fs.statSync(checkout.path(MAIN)).mode, 'open to whom the sources are')
  const left = fs.readdirSync(checkout.path('packages/reeve/dist'))
  const names = [dirname(first).slice('packages/reeve/dist/'.length), 'made-from.json']
  assert.deepEqual(new Set(left), new Set(names))
  assert.equal(checkout.run('again')['word'], 'again')
})

test('a source that asks where it lies is refused: in a bundle it lies elsewhere', async (t) => {
  const checkout = aCheckout(t)
  checkout.write('packages/reeve/src/kit/fail.ts', 'export const fail = () => import.meta.dirname')
  await assert.rejects(
    bundleProgram(checkout.root),
    /kit\/fail\.ts asks where it lies.*PRODUCT_ROOT/s,
  )
  assert.equal(findProgram(checkout.root), checkout.path(SOURCE))
  assert.equal(fs.existsSync(checkout.path('packages/reeve/dist')), false)
})

/** Sentences of the set-up. */
async function setUp({ root }: Checkout): Promise<string> {
  const sentences: string[] = []
  await setUpProgram(root, { say: (sentence) => sentences.push(sentence) })
  return sentences.join('\n')
}

function installBundler({ path }: Checkout): void {
  fs.symlinkSync(join(tools, '../node_modules/rolldown'), path('node_modules/rolldown'))
}

test('set-up: the program is bundled, and again when a source changed', async (t) => {
  const checkout = aCheckout(t)
  installBundler(checkout)
  assert.equal(await setUp(checkout), '')
  const first = findBundle(checkout.root)
  assert.notEqual(first, undefined)
  assert.equal(await setUp(checkout), '')
  assert.equal(findBundle(checkout.root), first)
  fs.appendFileSync(checkout.path(SOURCE), '\n')
  assert.equal(await setUp(checkout), '')
  assert.notEqual(findBundle(checkout.root), undefined)
  assert.notEqual(findBundle(checkout.root), first)
})

test('set-up: without the bundler nothing is said, and the sources run', async (t) => {
  const checkout = aCheckout(t)
  assert.equal(await setUp(checkout), '')
  assert.equal(checkout.run('plain')['started'], checkout.path(SOURCE))
})

test('set-up: what cannot be bundled is said, and is no reason to stop', async (t) => {
  const checkout = aCheckout(t)
  installBundler(checkout)
  checkout.write('packages/reeve/src/kit/thread.ts', 'export const a = (')
  const said = await setUp(checkout)
  assert.match(said, /^The program could not be bundled; it runs.*thread\.ts/s)
  assert.ok(!said.includes('\u001b'), 'plain text')
  assert.equal(findProgram(checkout.root), checkout.path(SOURCE))
})
