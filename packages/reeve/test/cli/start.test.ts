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

const COMMANDS = new URL('../../src/main/commands.ts', import.meta.url).href
