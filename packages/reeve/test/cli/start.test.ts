import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'

test("start: a command does not wait for the platform's fetch to be loaded", async () => {
  const program = `
    const { runCommandLine } = await import(${JSON.stringify(COMMANDS)})
    const code = await runCommandLine(['job', 'status', '--address', 'http://127.0.0.1:1'])
    const loaded = process.moduleLoadList.filter((name) => name.endsWith('deps/undici/undici'))
    console.log(JSON.stringify({ code, loaded }))`
  const run = promisify(execFile)
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program])
  assert.deepEqual(JSON.parse(stdout), { code: 4, loaded: [] })
})

const BUILT = process.env['REEVE_TEST_PROGRAM']
const skip = BUILT === undefined ? 'only builds have parts: npm test makes one' : false

/** Sizes follow the time that a command takes before its request, on any machine. */
const BYTES_MAX = { 'job run --help': 400_000, 'node status': 550_000, 'job status': 900_000 }

for (const [line, bytesMax] of Object.entries(BYTES_MAX))
  test(`start: ${line} loads only the parts of the program that it needs`, { skip }, async () => {
    const hook = `import { registerHooks } from 'node:module'
let bytes = 0
registerHooks({
  load(url, context, next) {
    const loaded = next(url, context)
    if (url.startsWith('file:')) bytes += Buffer.byteLength(loaded.source ?? '')
    return loaded
  },
})
process.on('exit', () => process.stderr.write('\\nbytes ' + bytes))`
    const words = ['--import', `data:text/javascript,${encodeURIComponent(hook)}`, BUILT ?? '']
    const address = ['--address', 'http://127.0.0.1:1']
    const run = promisify(execFile)
    const ended = await run(process.execPath, [...words, ...line.split(' '), ...address]).catch(
      (thrown: { readonly stderr: string }) => thrown,
    )
    const bytes = Number(/bytes (\d+)$/.exec(ended.stderr)?.[1])
    assert.ok(bytes > 100_000 && bytes < bytesMax, `${bytes} bytes`)
  })

const COMMANDS = new URL('../../src/main/commands.ts', import.meta.url).href
