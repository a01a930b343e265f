import { spawn } from 'node:child_process'
import { setTimeout as wait } from 'node:timers/promises'
import { EXIT_CODES, deleteDevToken, saveDevToken, type TextOutput } from '../cli/index.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { diskFiles, findConfigFiles } from './config/config-files.ts'
import { loadConfig, type LoadedConfig } from './config/load-config.ts'
import { formatProblems } from './config/problem.ts'
import type { FlagValues } from './config/read-flags-and-env.ts'
import { readHostInfo } from './system.ts'
import { createLog, type FollowableLog, type Logger } from './log.ts'
import type { RunningAgent } from './start-agent.ts'
import { runAgent } from './run-agent.ts'
import { readVersion } from './version.ts'

interface AgentCommandRequest {
  readonly flags: FlagValues
  /** The values of `--config`. */
  readonly paths: readonly string[]
  readonly terminal: TextOutput
}

/** `reeve agent`. */
export async function runAgentCommand(request: AgentCommandRequest): Promise<number> {
  const loaded = await loadAgentConfig(request)
  if (typeof loaded === 'number') return loaded
  const { config, warnings } = loaded
  const log = createLog(config.log, request.terminal.err)
  for (const warning of warnings) log.warn({}, warning)
  exitOnUncaughtException(log)
  ignoreClosedOutput()
  const stopKeepAlive = keepProcessAlive()
  const code = await startAndRun(config, log, request.terminal).finally(stopKeepAlive)
  // Ends the process if an open handle would keep it alive.
  setTimeout(() => process.exit(code), EXIT_DELAY_MS_MAX).unref()
  return code
}

const EXIT_DELAY_MS_MAX = 1_000
const KEEP_ALIVE_INTERVAL_MS = 60 * 60 * 1_000
/** Loads the configuration, or prints its problems and returns the exit code. */
async function loadAgentConfig({
  flags,
  paths,
  terminal,
}: AgentCommandRequest): Promise<LoadedConfig | number> {
  const found = await findConfigFiles(paths, diskFiles)
  const facts = readHostInfo()
  const loaded = loadConfig({ configFiles: found, flags, environment: process.env, host: facts })
  if (loaded.ok) return loaded.value
  const texts = new Map(found.files.map(({ path, source }) => [path, source]))
  terminal.err(`${formatProblems(loaded.error, texts)}\n`)
  // A missing required setting counts as a usage error, because a flag could have set it.
  const isUsage = loaded.error.some(({ origin }) => ['flag', 'default'].includes(origin.kind))
  return isUsage ? EXIT_CODES.usage : EXIT_CODES.failed
}

async function startAndRun(
  config: AgentConfig,
  log: FollowableLog,
  terminal: TextOutput,
): Promise<number> {
  // Loaded only now: this module imports the whole program, and usage errors must not wait for it.
  const { startAgent } = await import('./start-agent.ts')
  const { renderBanner } = await import('./banner.ts')
  const version = readVersion()
  const notifyReady = createReadyNotifier()
  return await runAgent({
    config,
    log,
    start: async (signal) =>
      await saveTokenUntilStop(await startAgent(config, { log, version, signal }), log),
    signals: process,
    announce: (program) => {
      terminal.out(renderBanner({ config, program, version }))
      notifyReady()
    },
    exit: (code) => process.exit(code),
    wait,
  })
}

/** Stores the token of a dev agent for the command line of the same user, until the agent stops. */
async function saveTokenUntilStop(program: RunningAgent, log: Logger): Promise<RunningAgent> {
  const { httpAddress: address, governanceToken: token } = program
  if (token === undefined) return program
  try {
    await saveDevToken(process.env, { address, token })
  } catch (thrown) {
    log.warn({ err: thrown }, 'the token could not be kept for the command line: give it --token')
    return program
  }
  const stop = async (): Promise<void> => {
    await deleteDevToken(process.env, { address, token })
    await program.stop()
  }
  return { ...program, stop }
}

/**
 * Keeps the process running. A node without a server in its process has no open handle while it
 * waits for its launcher or to reconnect, and Node would exit.
 */
function keepProcessAlive(): () => void {
  const timer = setInterval(() => undefined, KEEP_ALIVE_INTERVAL_MS)
  return () => clearInterval(timer)
}

/** Exits on an uncaught exception: after a broken invariant, continuing could cause more damage. */
function exitOnUncaughtException(log: Logger): void {
  process.on('uncaughtException', (thrown) => {
    log.error({ err: thrown }, 'Reeve stops: this is a mistake in it')
    process.exit(EXIT_CODES.failed)
  })
}

/** Ignores a closed output, as in `reeve agent | head`: tasks must keep running. */
function ignoreClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (thrown: NodeJS.ErrnoException) => {
      if (thrown.code !== 'EPIPE') throw thrown
    })
}

/**
 * Notifies the service manager that this agent is ready. Node has no Unix datagram sockets, so
 * `systemd-notify` does it; without it, no notification is needed either. The variable is removed
 * from the environment, so that tasks cannot send notifications for the agent.
 */
export function createReadyNotifier(environment: NodeJS.ProcessEnv = process.env): () => void {
  const socket = environment['NOTIFY_SOCKET']
  delete environment['NOTIFY_SOCKET']
  if (socket === undefined || socket === '') return () => undefined
  // Root may send for the PID of the agent; for other users, NotifyAccess= of the unit decides.
  const as = process.getuid?.() === 0 ? [`--pid=${process.pid}`] : []
  return () => {
    const child = spawn('systemd-notify', ['--ready', ...as], {
      env: { ...environment, NOTIFY_SOCKET: socket },
      stdio: 'ignore',
    })
    // Without the program, the start of the unit times out and the journal reports it.
    child.once('error', () => undefined)
    child.unref()
  }
}
