import { setTimeout as wait } from 'node:timers/promises'
import { EXIT_CODES, forgetDevToken, keepDevToken, type Terminal } from '../cli/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { findConfigFiles } from './config/config-files.ts'
import { diskFiles } from './config/disk-files.ts'
import { loadConfig, type LoadedConfig } from './config/load-config.ts'
import { formatProblems } from './config/problem.ts'
import type { FlagValues } from './config/read-texts.ts'
import { readHostFacts } from './host-facts.ts'
import { createLog, type FollowableLog, type ProgramLog } from './log.ts'
import type { RunningProgram } from './program.ts'
import { runAgent } from './run-agent.ts'
import { notifyServiceManager } from './service-notify.ts'
import { readVersion } from './version.ts'

export interface AgentRequest {
  readonly flags: FlagValues
  /** What `--config` named. */
  readonly paths: readonly string[]
  readonly terminal: Terminal
}

/** `reeve agent`. */
export async function runAgentCommand(request: AgentRequest): Promise<number> {
  const loaded = await load(request)
  if (typeof loaded === 'number') return loaded
  const { config, warnings } = loaded
  const log = createLog(config.log, request.terminal.err)
  for (const warning of warnings) log.warn({}, warning)
  endOnBug(log)
  outliveReaders()
  const letGo = stayAlive()
  const code = await run(config, log, request.terminal).finally(letGo)
  // Whatever is still open has no work left to do.
  setTimeout(() => process.exit(code), LINGER_MS_MAX).unref()
  return code
}

const LINGER_MS_MAX = 1_000
const STAY_ALIVE_MS = 60 * 60 * 1_000
/** The configuration, or the exit code after saying what is wrong with it. */
async function load({ flags, paths, terminal }: AgentRequest): Promise<LoadedConfig | number> {
  const found = await findConfigFiles(paths, diskFiles)
  const facts = readHostFacts()
  const loaded = loadConfig({ found, flags, environment: process.env, facts })
  if (loaded.ok) return loaded.value
  const texts = new Map(found.files.map(({ path, text }) => [path, text]))
  terminal.err(`${formatProblems(loaded.error, texts)}\n`)
  // What no source says could have been said by a flag, as most who meet this will.
  const isUsage = loaded.error.some(({ origin }) => ['flag', 'default'].includes(origin.kind))
  return isUsage ? EXIT_CODES.usage : EXIT_CODES.failed
}

async function run(config: AgentConfig, log: FollowableLog, terminal: Terminal): Promise<number> {
  // Everything that the product is; whoever misspelt a flag has not waited for it.
  const { startProgram } = await import('./program.ts')
  const { renderBanner } = await import('./banner.ts')
  const version = readVersion()
  const notifyReady = notifyServiceManager()
  return await runAgent({
    config,
    log,
    start: async (signal) =>
      await withDevToken(await startProgram(config, { log, version, signal }), log),
    signals: process,
    announce: (program) => {
      terminal.out(renderBanner({ config, program, version }))
      notifyReady()
    },
    exit: (code) => process.exit(code),
    wait,
  })
}

/** Leaves the token of a dev agent where the command line of the same person finds it. */
async function withDevToken(program: RunningProgram, log: ProgramLog): Promise<RunningProgram> {
  const { httpAddress: address, governanceToken: token } = program
  if (token === undefined) return program
  try {
    await keepDevToken(process.env, { address, token })
  } catch (thrown) {
    log.warn({ err: thrown }, 'the token could not be kept for the command line: give it --token')
    return program
  }
  const stop = async (): Promise<void> => {
    await forgetDevToken(process.env, { address, token })
    await program.stop()
  }
  return { ...program, stop }
}

/**
 * A node without a server in its process has nothing open while it asks its launcher or waits to
 * dial again, and Node ends a process that has nothing open.
 */
function stayAlive(): () => void {
  const timer = setInterval(() => undefined, STAY_ALIVE_MS)
  return () => clearInterval(timer)
}

/** A broken invariant: going on could break more than the process. */
function endOnBug(log: ProgramLog): void {
  process.on('uncaughtException', (thrown) => {
    log.error({ err: thrown }, 'Reeve stops: this is a mistake in it')
    process.exit(EXIT_CODES.failed)
  })
}

/** `reeve agent | head` closes our output; that is no reason to stop running tasks. */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EPIPE') throw thrown
    })
}
