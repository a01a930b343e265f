import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { appendFile, chown, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'
import type { Result } from '@reeve/kit/result.ts'
import {
  findPostgres,
  type Account,
  type PostgresPrograms,
  findPackagedPostgres,
} from '../../src/main/dev-cluster/find-postgres.ts'
import { installation } from '../../src/main/installation.ts'

const START_MS_MAX = 120_000
const LOOK_AGAIN_MS = 20

/** Why tests against PostgreSQL cannot run here, as one sentence; undefined when they can. */
export function whyNoPostgres(): string | undefined {
  const found = findPrograms()
  return found.ok ? undefined : found.error
}

/** The version that tests run; undefined where there is none. */
export function postgresVersion(): string | undefined {
  const found = findPrograms()
  if (!found.ok) return undefined
  const text = execFileSync(join(found.value.directory, 'postgres'), ['--version'], {
    encoding: 'utf8',
  })
  return /\) (\S+)/.exec(text)?.[1]
}

interface PostgresOptions {
  /** Lines for its configuration. */
  readonly settings?: readonly string[]
  /** Files for its data directory, by name; only it may read them. */
  readonly files?: Readonly<Record<string, string>>
  /** Names its socket; its own where it listens on the network too. */
  readonly port?: number
}

/**
 * A throw-away PostgreSQL with its own directory, reached by a socket in it. Syncs as in earnest.
 */
export async function startPostgres(options: PostgresOptions = {}): Promise<TestPostgres> {
  const { directory: programs, account } = getPrograms()
  const root = await mkdtemp(join(tmpdir(), 'pg-'))
  if (account !== undefined) await chown(root, account.uid, account.gid)
  const data = join(root, 'data')
  const initdb = ['-D', data, '-U', USER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync']
  await promisify(execFile)(join(programs, 'initdb'), initdb, { ...account, cwd: root })
  const settings = [...SETTINGS, ...(options.settings ?? []), '']
  await appendFile(join(data, 'postgresql.conf'), settings.join('\n'))
  for (const [name, text] of Object.entries(options.files ?? {})) {
    await writeFile(join(data, name), text, { mode: 0o600 })
    if (account !== undefined) await chown(join(data, name), account.uid, account.gid)
  }
  const postgres = new TestPostgres({
    programs,
    root,
    data,
    account,
    port: options.port ?? DEFAULT_PORT,
  })
  await postgres.start()
  return postgres
}

/**
 * A streaming standby of another throw-away PostgreSQL: it receives what that one commits, and
 * answers reads until it is promoted.
 */
export async function startStandby(primary: TestPostgres): Promise<TestPostgres> {
  const { directory: programs, account } = getPrograms()
  const root = await mkdtemp(join(tmpdir(), 'pg-'))
  if (account !== undefined) await chown(root, account.uid, account.gid)
  const place = { programs, root, data: join(root, 'data'), account, port: primary.port }
  const standby = new TestPostgres(place)
  await standby.copyFrom(primary)
  return standby
}

const USER = 'reeve'
const DEFAULT_PORT = 5432
const SETTINGS = [
  "listen_addresses = ''",
  'max_connections = 60',
  'shared_buffers = 32MB',
  'fsync = on',
  'synchronous_commit = on',
  // After a crash it would open and sync every file of every database.
  'recovery_init_sync_method = syncfs',
]

interface Place {
  readonly programs: string
  readonly root: string
  readonly data: string
  readonly port: number
  /** Undefined: it runs as whoever runs the tests. */
  readonly account: Account | undefined
}

export class TestPostgres {
  /** The folder of its socket. */
  readonly root: string
  readonly #place: Place
  #process: ChildProcess | undefined
  #databases = 0

  constructor(place: Place) {
    this.#place = place
    this.root = place.root
    process.once('exit', () => this.#process?.kill('SIGQUIT'))
    // A run of tests that takes too long is ended so, and nothing of it may stay.
    process.once('SIGTERM', () => process.exit(143))
  }

  get port(): number {
    return this.#place.port
  }

  /** Starts as a standby of another; what it had is gone. */
  async copyFrom(primary: TestPostgres): Promise<void> {
    const { root, data, account } = this.#place
    await rm(data, { recursive: true, force: true })
    const client = primary.#client('postgres')
    await client.connect()
    try {
      // Not pg_basebackup: the development dependency does not bring it.
      await client.query("SELECT pg_backup_start('standby', true)")
      await promisify(execFile)('cp', ['-a', primary.#place.data, data], { ...account, cwd: root })
      const { rows } = await client.query<{ labelfile: string }>(
        'SELECT labelfile FROM pg_backup_stop(false)',
      )
      await this.#write('backup_label', rows[0]?.labelfile ?? '')
    } finally {
      await client.end()
    }
    await rm(join(data, 'postmaster.pid'), { force: true })
    await rm(join(data, 'postmaster.opts'), { force: true })
    const source = `host=${primary.root} port=${primary.port} user=${USER} application_name=standby`
    await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${source}'\n`)
    await this.#write('standby.signal', '')
    await this.start()
  }

  /** A standby becomes a primary. Resolves when it takes writes. */
  async promote(): Promise<void> {
    await this.query('postgres', 'SELECT pg_promote(true, 30)')
  }

  url(database: string): string {
    return `postgres://${USER}@localhost:${this.#place.port}/${database}?host=${encodeURIComponent(this.root)}`
  }

  /** The URL of a new, empty database. */
  async newDatabase(): Promise<string> {
    const name = `test_${process.pid}_${++this.#databases}`
    await this.query('postgres', `CREATE DATABASE ${name}`)
    return this.url(name)
  }

  async query(database: string, text: string): Promise<readonly Record<string, unknown>[]> {
    const client = this.#client(database)
    await client.connect()
    try {
      return (await client.query<Record<string, unknown>>(text)).rows
    } finally {
      await client.end()
    }
  }

  #client(database: string): Client {
    const client = new Client({ host: this.root, port: this.#place.port, user: USER, database })
    client.on('error', () => undefined)
    return client
  }

  /** Writes a file that PostgreSQL reads and removes by itself. */
  async #write(name: string, text: string): Promise<void> {
    const { data, account } = this.#place
    await writeFile(join(data, name), text, { mode: 0o600 })
    if (account !== undefined) await chown(join(data, name), account.uid, account.gid)
  }

  async start(): Promise<void> {
    const { programs, root, data, account } = this.#place
    const untilMs = performance.now() + START_MS_MAX
    while (!(await this.#answers())) {
      if (performance.now() > untilMs) throw new Error(await this.#complaint())
      // After a kill it refuses to start while a process of the one before still lives.
      if (this.#process === undefined || this.#process.exitCode !== null) {
        const args = ['-D', data, '-k', root, '-c', `log_directory=${root}`]
        this.#process = spawn(join(programs, 'postgres'), args, {
          ...account,
          cwd: root,
          stdio: 'ignore',
        })
      }
      await wait(LOOK_AGAIN_MS)
    }
  }

  /** As a crash would: nothing is written down any more. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Ends it and removes its directory. */
  async stop(): Promise<void> {
    await this.#end('SIGQUIT')
    await rm(this.root, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 })
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const running = this.#process
    this.#process = undefined
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const ended = new Promise((resolve) => running.once('exit', resolve))
    running.kill(signal)
    await ended
  }

  async #answers(): Promise<boolean> {
    return await this.query('postgres', 'SELECT 1').then(
      () => true,
      () => false,
    )
  }

  async #complaint(): Promise<string> {
    const log = await readFile(join(this.root, 'log'), 'utf8').catch(() => '')
    return `PostgreSQL did not start. ${log}`
  }
}

/** The machine's own, else those of the development dependency. */
function findPrograms(): Result<PostgresPrograms, string> {
  const isRoot = process.getuid?.() === 0
  return findPostgres({
    directory: undefined,
    path: process.env['PATH'] ?? '',
    isRoot,
    findPackaged: () => findPackagedPostgres(installation.root, isRoot),
  })
}

function getPrograms(): PostgresPrograms {
  const found = findPrograms()
  if (!found.ok) throw new Error(found.error)
  return found.value
}
