import { execFile, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { PostgresPrograms } from './find-postgres.ts'
import type { Guard } from './guard.ts'
import { endChild, isAlive, launch } from './launch.ts'

const USER = 'reeve'
const DATABASE = 'postgres'
/** Only names the socket: nothing listens on the network. */
const PORT = 5432
const START_MS_MAX = 30_000
const LOOK_MS = 100
const STOP_MS_MAX = 10_000
const LAST_CHARS = 2_000
/** A server has nine connections at most. */
const CONNECTIONS_MAX = 200

interface OwnDatabaseOptions {
  readonly programs: PostgresPrograms
  /** Where its data is; made when it is not there. */
  readonly directory: string
  readonly logFile: string
  readonly guard: Guard
}

/** A PostgreSQL of our own, reached by a socket that only its account and root can open. */
export class OwnDatabase {
  readonly url: string
  readonly #options: OwnDatabaseOptions
  readonly #sockets: string
  #child: ChildProcess | undefined
  #isStopping = false

  /** Rejects with a Fault that says what PostgreSQL said. */
  static async start(options: OwnDatabaseOptions): Promise<OwnDatabase> {
    // In a folder of its own with a short name: the path of a socket has 107 characters at most.
    const sockets = await mkdtemp(join(tmpdir(), 'reeve-pg-'))
    options.guard.removeAtEnd(sockets)
    const database = new OwnDatabase(options, sockets)
    try {
      const { account } = options.programs
      if (account !== undefined) await chown(sockets, account.uid, account.gid)
      if (!existsSync(join(options.directory, 'PG_VERSION'))) await makeData(options)
      await database.#untilReady(database.#launch())
      return database
    } catch (thrown) {
      await database.stop()
      throw thrown
    }
  }

  private constructor(options: OwnDatabaseOptions, sockets: string) {
    this.#options = options
    this.#sockets = sockets
    this.url = `postgres://${USER}@localhost:${PORT}/${DATABASE}?host=${encodeURIComponent(sockets)}`
  }

  get pid(): number {
    return this.#child?.pid ?? 0
  }

  /** Tells once, when it ends without having been asked to. */
  onEnd(tell: (how: string) => void): void {
    this.#child?.once('exit', (code, signal) => {
      if (!this.#isStopping) tell(signal ?? `exit code ${code}`)
    })
  }

  /** After it has ended. Rejects with a Fault like `start`. */
  async startAgain(): Promise<void> {
    const untilMs = performance.now() + START_MS_MAX
    for (;;) {
      try {
        return await this.#untilReady(this.#launch())
      } catch (thrown) {
        // It refuses to start while a process of the one before still lives.
        if (this.#isStopping || performance.now() > untilMs) throw thrown
        await wait(LOOK_MS)
      }
    }
  }

  async stop(): Promise<void> {
    this.#isStopping = true
    // SIGINT: ends at once what is connected, and writes down what it has.
    if (this.#child !== undefined)
      await endChild(this.#child, { signal: 'SIGINT', withinMs: STOP_MS_MAX })
    await rm(this.#sockets, { recursive: true, force: true })
  }

  #launch(): ChildProcess {
    const { programs, directory, logFile, guard } = this.#options
    const args = ['-D', directory, '-k', this.#sockets, '-p', String(PORT)]
    this.#child = launch([join(programs.folder, 'postgres'), ...args], {
      logFile,
      directory,
      account: programs.account,
      guard,
      guarded: { stage: 'database', signal: 'INT' },
      environment: process.env,
    })
    return this.#child
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    const { logFile } = this.#options
    const untilMs = performance.now() + START_MS_MAX
    while (isAlive(child) && performance.now() < untilMs) {
      if (await this.#acceptsConnections()) return
      await wait(LOOK_MS)
    }
    await endChild(child, { signal: 'SIGQUIT', withinMs: STOP_MS_MAX })
    const said = (await readFile(logFile, 'utf8')).slice(-LAST_CHARS).trim()
    throw new Fault('storage-failed', `PostgreSQL did not start:\n${said}`)
  }

  /** PostgreSQL keeps its process id in the first line of this file and its state in the eighth. */
  async #acceptsConnections(): Promise<boolean> {
    const file = join(this.#options.directory, 'postmaster.pid')
    // Not there yet: it has just been started.
    const lines = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    return lines[0]?.trim() === String(this.pid) && lines[7]?.trim() === 'ready'
  }
}

async function makeData({ programs, directory }: OwnDatabaseOptions): Promise<void> {
  const { folder, account } = programs
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
