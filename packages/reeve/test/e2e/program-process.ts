import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createClient, type Client } from '@reeve/sdk'
import type { TestContext } from 'node:test'
import { until } from '../build/until.ts'

const ENTRY = fileURLToPath(new URL('../../src/main/reeve.ts', import.meta.url))

/** As bin/reeve does: half a second less at every start. */
const COMPILE_CACHE = fileURLToPath(
  new URL('../../../../node_modules/.cache/reeve', import.meta.url),
)

/** The real program, as a person starts it. */
export interface ProgramProcess {
  readonly child: ChildProcess
  readonly address: string
  readonly client: Client
  readonly output: () => string
  /** Ends it and waits until it is gone. Gives the exit code, or null after a signal. */
  kill(signal: NodeJS.Signals): Promise<number | null>
}

/** Starts `reeve agent --dev` on any free port and waits until it says where it is. */
export async function startProgram(
  t: TestContext,
  dataDirectory: string,
  flags: readonly string[] = [],
): Promise<ProgramProcess> {
  const args = [ENTRY, 'agent', '--dev', '--http-port', '0', '--data-dir', dataDirectory, ...flags]
  const env = { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE }
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env })
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString('utf8')
  }
  child.stdout.on('data', collect)
  child.stderr.on('data', collect)
  t.after(() => child.kill('SIGKILL'))
  const address = await until('the program to say its address', () => {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${output}`)
    return /API\s+(http:\/\/\S+)/.exec(output)?.[1]
  })
  const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
    const gone = child.exitCode === null ? once(child, 'exit') : undefined
    child.kill(signal)
    await gone
    return child.exitCode
  }
  return { child, address, client: createClient({ address }), output: () => output, kill }
}
