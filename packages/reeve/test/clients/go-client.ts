import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'

const run = promisify(execFile)
const BUILD_MS_MAX = 600_000
const RUN_MS_MAX = 300_000

/** A program built from a folder beside this file, or one sentence why it could not be built. */
export async function buildGoClient(
  name: 'workload' | 'governance',
  directory: string,
): Promise<{ readonly program: string } | string> {
  const program = join(directory, name)
  const cwd = join(import.meta.dirname, name)
  try {
    await run('go', ['build', '-o', program, '.'], { cwd, timeout: BUILD_MS_MAX })
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

export interface ClientRun {
  readonly program: string
  readonly args?: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** At least so many steps run. */
  readonly stepsMin: number
}

/** Runs the program; each step that it prints is a test. */
export async function runGoClient(t: TestContext, client: ClientRun): Promise<void> {
  const { program, args = [], environment, stepsMin } = client
  const env = { ...process.env, ...environment }
  const { stdout } = await run(program, [...args], { timeout: RUN_MS_MAX, env })
  const steps = stdout
    .trim()
    .split('\n')
    .map((line): Step => JSON.parse(line))
  assert.ok(steps.length >= stepsMin, stdout)
  for (const { step, error } of steps) await t.test(step, () => assert.equal(error, undefined))
}
