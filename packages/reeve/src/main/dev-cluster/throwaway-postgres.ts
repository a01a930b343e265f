import { execFile, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { PostgresPrograms } from './find-postgres.ts'
import type { Watchdog } from './watchdog.ts'
import { stopChild, isAlive, spawnDetached } from './child-agent.ts'

const USER = 'reeve'
const DATABASE = 'postgres'
/** Used only in the socket's file name; no TCP port is opened. */
const PORT = 5432
const START_TIMEOUT_MS = 30_000
const POLL_MS = 100
const STOP_TIMEOUT_MS = 10_000
const LOG_TAIL_CHARS = 2_000
/** Each server uses at most nine connections. */
const CONNECTIONS_MAX = 200

interface OwnDatabaseOptions {
  readonly programs: PostgresPrograms
  /** The data directory; created if missing. */
  readonly directory: string
  readonly logFile: string
  readonly watchdog: Watchdog
}

/**
 * A PostgreSQL process of the cluster, reached over a Unix socket that only its account and root
 * can open.
 */
export class ThrowawayPostgres {
  readonly url: string
  readonly #options: OwnDatabaseOptions
  readonly #socketDirectory: string
  #child: ChildProcess | undefined
  #isStopping = false

  /** Rejects with a Fault that contains the error of PostgreSQL. */
  static async start(options: OwnDatabaseOptions): Promise<ThrowawayPostgres> {
    // A short directory, because socket paths are limited to 107 characters.
    const sockets = await mkdtemp(join(tmpdir(), 'reeve-pg-'))
    options.watchdog.removeOnExit(sockets)
    const database = new ThrowawayPostgres(options, sockets)
    try {
      const { account } = options.programs
      if (account !== undefined) await chown(sockets, account.uid, account.gid)
      if (!existsSync(join(options.directory, 'PG_VERSION'))) await initializeData(options)
      await database.#waitUntilReady(database.#launch())
      return database
    } catch (thrown) {
      await database.stop()
      throw thrown
    }
  }

  private constructor(options: OwnDatabaseOptions, sockets: string) {
    this.#options = options
    this.#socketDirectory = sockets
    this.url = `postgres://${USER}@localhost:${PORT}/${DATABASE}?host=${encodeURIComponent(sockets)}`
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Calls the listener once after an unexpected exit. */
  onExit(tell: (how: string) => void): void {
    this.#child?.once('exit', (code, signal) => {
      if (!this.#isStopping) tell(signal ?? `exit code ${code}`)
    })
  }

  /** Restarts the database after its exit. Rejects with a Fault like `start`. */
  async restart(): Promise<void> {
    const untilMs = performance.now() + START_TIMEOUT_MS
    for (;;) {
      try {
        return await this.#waitUntilReady(this.#launch())
      } catch (thrown) {
        // PostgreSQL refuses to start while a process of the previous instance is running.
        if (this.#isStopping || performance.now() > untilMs) throw thrown
        await wait(POLL_MS)
      }
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    // SIGINT is a fast shutdown: PostgreSQL disconnects clients and writes a checkpoint.
    if (this.#child !== undefined)
      await stopChild(this.#child, { signal: 'SIGINT', withinMs: STOP_TIMEOUT_MS })
    await rm(this.#socketDirectory, { recursive: true, force: true })
  }

  #launch(): ChildProcess {
    const { programs, directory, logFile, watchdog } = this.#options
    const args = ['-D', directory, '-k', this.#socketDirectory, '-p', String(PORT)]
    this.#child = spawnDetached([join(programs.directory, 'postgres'), ...args], {
      logFile,
      directory,
      account: programs.account,
      watchdog,
      watched: { stage: 'database', signal: 'INT' },
      environment: process.env,
    })
    return this.#child
  }

  async #waitUntilReady(child: ChildProcess): Promise<void> {
    const { logFile } = this.#options
    const untilMs = performance.now() + START_TIMEOUT_MS
    while (isAlive(child) && performance.now() < untilMs) {
      if (await this.#acceptsConnections()) return
      await wait(POLL_MS)
    }
    await stopChild(child, { signal: 'SIGQUIT', withinMs: STOP_TIMEOUT_MS })
    const said = (await readFile(logFile, 'utf8')).slice(-LOG_TAIL_CHARS).trim()
    throw new Fault('storage-failed', `PostgreSQL did not start:\n${said}`)
  }

  /** Reads postmaster.pid, which has the PID in its first line and the status in the eighth. */
  async #acceptsConnections(): Promise<boolean> {
    const file = join(this.#options.directory, 'postmaster.pid')
    // Missing shortly after the start.
    const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    return lines[0]?.trim() === String(this.pid) && lines[7]?.trim() === 'ready'
  }
}

async function initializeData({ programs, directory }: OwnDatabaseOptions): Promise<void> {
  const { directory: folder, account } = programs
  await mkdir(directory, { recursive: true, mode: 0o700 })
  if (account !== undefined) await chown(directory, account.uid, account.gid)
  const args = ['-D', directory, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  try {
    await promisify(execFile)(join(folder, 'initdb'), args, { ...account, cwd: directory })
  } catch (thrown) {
    const said = thrown instanceof Error && 'stderr' in thrown ? String(thrown.stderr) : ''
    const why = said.trim() === '' ? errorMessage(thrown) : said.trim()
    const hint =
      account === undefined
        ? ''
        : '\nAs root, PostgreSQL runs as another account, which has to be able to enter every ' +
          'directory above its own: "chmod o+x DIR" allows it.'
    throw new Fault(
      'storage-failed',
      `PostgreSQL could not make its files in ${directory}: ${why}${hint}`,
    )
  }
  const settings = [
    "listen_addresses = ''",
    `max_connections = ${CONNECTIONS_MAX}`,
    'shared_buffers = 32MB',
    '',
  ]
  await appendFile(join(directory, 'postgresql.conf'), settings.join('\n'))
}
