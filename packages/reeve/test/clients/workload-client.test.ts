import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { startProgram } from '../e2e/program-process.ts'
import { temporaryDirectory } from '../build/temporary-directory.ts'

const run = promisify(execFile)
const FOLDER = join(import.meta.dirname, 'workload')
const BUILD_MS_MAX = 600_000
const RUN_MS_MAX = 120_000

/** Where the client was built; else why it could not be, in one sentence. */
async function build(directory: string): Promise<{ readonly program: string } | string> {
  const program = join(directory, 'client')
  try {
    await run('go', ['build', '-o', program, '.'], { cwd: FOLDER, timeout: BUILD_MS_MAX })
    return { program }
  } catch (thrown) {
    // What execFile rejects with.
    const { code, stderr } = thrown as { readonly code?: unknown; readonly stderr?: string }
    if (code === 'ENOENT') return 'Go is not installed.'
    const text = stderr ?? ''
    if (/dial tcp|proxyconnect|no such host|403 Forbidden|requires go >=|toolchain/.test(text))
      return `The modules of the Go client cannot be fetched here: ${text.trim().split('\n').at(-1)}`
    throw thrown
  }
}

interface Step {
  readonly step: string
  readonly error?: string
}

test('the unmodified Go client does what a team does every day', async (t) => {
  const directory = await temporaryDirectory(t)
  const [built, server] = await Promise.all([
    build(directory),
    startProgram(t, join(directory, 'data')),
  ])
  if (typeof built === 'string') return t.skip(built)
  const { stdout } = await run(built.program, [join(import.meta.dirname, 'web.hcl')], {
    timeout: RUN_MS_MAX,
    env: { ...process.env, NOMAD_ADDR: server.address },
  })
  const steps = stdout
    .trim()
    .split('\n')
    .map((line): Step => JSON.parse(line))
  assert.ok(steps.length > 15, stdout)
  for (const { step, error } of steps) await t.test(step, () => assert.equal(error, undefined))
})
