import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createClient, type Client } from '@reeve/sdk'
import type { TestContext } from 'node:test'
import { atEnd } from '../build/at-end.ts'
import { PROGRAM } from '../build/program.ts'
import { until } from '../build/until.ts'

/** The real program, as a person starts it. */
export interface AgentProcess {
  readonly child: ChildProcess
  readonly output: () => string
  /** Ends it and waits until it is gone. Gives the exit code, or null after a signal. */
  kill(signal: NodeJS.Signals): Promise<number | null>
}

/** The same with a server in it. */
export interface ProgramProcess extends AgentProcess {
  readonly address: string
  readonly client: Client
}

/** Starts `reeve agent --dev` on any free port and waits until it says where it is. */
export async function startProgram(
  t: TestContext,
  dataDirectory: string,
  flags: readonly string[] = [],
  variables: Readonly<Record<string, string>> = {},
): Promise<ProgramProcess> {
  const args = ['--dev', '--http-port', '0', '--data-dir', dataDirectory, ...flags]
  // Beside the data, where `aCommandLine` looks for it, and not in the home of who runs the tests.
  const environment = { XDG_CONFIG_HOME: join(dirname(dataDirectory), '.config'), ...variables }
  const agent = startAgent(t, args, { environment })
  const address = await until('the program to say its address', () => {
    const { exitCode } = agent.child
    if (exitCode !== null) throw new Error(`it ended with ${exitCode}: ${agent.output()}`)
    return /API\s+(http:\/\/\S+)/.exec(agent.output())?.[1]
  })
  return { ...agent, address, client: createClient({ address }) }
}

export interface AgentSurroundings {
  /** Variables on top of the ones of this process. */
  readonly environment?: Readonly<Record<string, string>>
  /** A command that ends by becoming the one it is given, as `env` does. */
  readonly wrapper?: readonly string[]
  /** Descriptors that the agent is left with, from 3 on. */
  readonly descriptors?: readonly number[]
  /** The file to start, where it must be this one. */
  readonly entry?: string
  /** What ends it after the test; one that has children of its own must get to end them. */
  readonly lastSignal?: NodeJS.Signals
}

/** An agent that is killed leaves its memory mounted: its directory could not be removed. */
function onDisk(flags: readonly string[]): Readonly<Record<string, string>> {
  return flags.includes('--dev') ? {} : { REEVE_SECRETS_IN_MEMORY: 'false' }
}

/** Starts `reeve agent` with these flags, and does not wait for anything. */
export function startAgent(
  t: TestContext,
  flags: readonly string[],
  surroundings: AgentSurroundings = {},
): AgentProcess {
  const environment = { ...onDisk(flags), ...surroundings.environment }
  return startReeve(t, ['agent', ...flags], { ...surroundings, environment })
}

/** Starts `reeve` with these arguments, and does not wait for anything. */
export function startReeve(
  t: TestContext,
  words: readonly string[],
  surroundings: AgentSurroundings = {},
): AgentProcess {
  const { environment, wrapper = [], descriptors = [], lastSignal = 'SIGKILL' } = surroundings
  const { entry = PROGRAM } = surroundings
  const env = { ...process.env, ...environment }
  const [command = '', ...args] = [...wrapper, process.execPath, entry, ...words]
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe', ...descriptors], env })
  let output = ''
  const collect = (chunk: Buffer): void => {
    output += chunk.toString('utf8')
  }
  child.stdout?.on('data', collect)
  child.stderr?.on('data', collect)
  const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
    const isThere = child.exitCode === null && child.signalCode === null
    const gone = isThere ? once(child, 'exit') : undefined
    child.kill(signal)
    await gone
    return child.exitCode
  }
  atEnd(t, () => kill(lastSignal))
  return { child, output: () => output, kill }
}
