import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import * as fs from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'

const tools = dirname(dirname(fileURLToPath(import.meta.url)))
const skip = process.platform === 'linux' ? false : 'the helper is for Linux'

/** Stands for a compiler: makes a file that holds its arguments, or refuses. */
const FAKE_COMPILER = `#!/bin/sh
[ -f "$(dirname "$0")/broken" ] && { echo 'x.c:1: error: no' >&2; exit 1; }
echo "$(basename "$0")" >> "$(dirname "$0")/calls"
for last; do :; done
echo "$@" > "$last"
`

interface Checkout {
  readonly root: string
  write(name: string, text: string): void
  compiler(...names: readonly string[]): void
  build(): { readonly status: number | null; readonly stdout: string; readonly stderr: string }
  calls(): string
}

/** A checkout with one source file, and no compiler until there is one. */
function aCheckout(t: TestContext): Checkout {
  const root = fs.realpathSync(fs.mkdtempSync(join(tmpdir(), 'reeve-native-build-')))
  t.after(() => fs.rmSync(root, { recursive: true, force: true }))
  const write = (name: string, text: string) => {
    fs.mkdirSync(dirname(join(root, name)), { recursive: true })
    fs.writeFileSync(join(root, name), text, { mode: 0o755 })
  }
  for (const name of ['build', 'source', 'build.ts'])
    fs.cpSync(join(tools, name), join(root, 'tools', name), { recursive: true })
  write('packages/reeve/native/src/main.c', 'int main(void) { return 0; }\n')
  fs.mkdirSync(join(root, 'path'))
  for (const tool of ['sh', 'dirname', 'basename', 'echo']) {
    const found = spawnSync('sh', ['-c', `command -v ${tool}`], { encoding: 'utf8' }).stdout.trim()
    if (found.startsWith('/')) fs.symlinkSync(found, join(root, 'path', tool))
  }
  return {
    root,
    write,
    compiler: (...names) => {
      for (const name of names) write(`path/${name}`, FAKE_COMPILER)
    },
    build: () =>
      spawnSync(process.execPath, [join(root, 'tools/build.ts'), '--native'], {
        encoding: 'utf8',
        env: { PATH: join(root, 'path') },
      }),
    calls: () => fs.readFileSync(join(root, 'path/calls'), 'utf8'),
  }
}

test('build-native: without a compiler it says what that means', { skip }, (t) => {
  const { status, stderr } = aCheckout(t).build()
  assert.equal(status, 1)
  assert.match(stderr, /There is no C compiler .* Servers run all the same/)
})

test('build-native: builds once, and again after a source changed', { skip }, (t) => {
  const checkout = aCheckout(t)
  checkout.compiler('cc')
  const first = checkout.build()
  assert.equal(first.status, 0, first.stderr)
  assert.equal(checkout.build().stdout, first.stdout)
  assert.equal(checkout.calls(), 'cc\n')
  checkout.write('packages/reeve/native/src/main.c', 'int main(void) { return 1; }\n')
  const second = checkout.build()
  assert.notEqual(second.stdout, first.stdout)
  const link = join(checkout.root, 'node_modules/.cache/reeve/reeve-task')
  assert.equal(fs.realpathSync(link), second.stdout.trim())
  // Running processes keep using the older build.
  assert.ok(fs.existsSync(first.stdout.trim()))
})

test('build-native: prefers the compiler that makes the small program', { skip }, (t) => {
  const checkout = aCheckout(t)
  checkout.compiler('cc', 'musl-gcc')
  const { stdout } = checkout.build()
  assert.equal(checkout.calls(), 'musl-gcc\n')
  assert.match(fs.readFileSync(stdout.trim(), 'utf8'), /-Werror .*-static/)
})

test('build-native: a compiler that fails is heard', { skip }, (t) => {
  const checkout = aCheckout(t)
  checkout.compiler('cc')
  checkout.write('path/broken', '')
  const { status, stderr } = checkout.build()
  assert.equal(status, 1)
  assert.match(stderr, /could not build the task helper[^]*x\.c:1: error: no/)
})
