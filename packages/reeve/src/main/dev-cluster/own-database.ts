import { execFile, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chown, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Fault, messageOf } from '../../kit/fault.ts'
import type { PostgresPrograms } from './find-postgres.ts'
import { endChild, isAlive, launch } from './launch.ts'

const USER = 'reeve'
const DATABASE = 'postgres'
/** Only names the socket: nothing listens on the network. */
const PORT = 5432
const START_MS_MAX = 30_000
const LOOK_MS = 100
const STOP_MS_MAX = 10_000
const LAST_CHARS = 2_000
/** A server has eight connections at most. */
const CONNECTIONS_MAX = 200

/** A PostgreSQL of our own, reached by a socket that only its account and root can open. */
export interface OwnDatabase {
  readonly url: string
  readonly pid: number
  readonly logFile: string
  stop(): Promise<void>
}

interface OwnDatabaseOptions {
  readonly programs: PostgresPrograms
  /** Where its data is; made when it is not there. */
  readonly directory: string
  readonly logFile: string
}

/** Rejects with a Fault that says what PostgreSQL said. */
export async function startDatabase(options: OwnDatabaseOptions): Promise<OwnDatabase> {
  const { programs, directory, logFile } = options
  const { account } = programs
  // In a folder of its own with a short name: the path of a socket has 107 characters at most.
  const sockets = await mkdtemp(join(tmpdir(), 'reeve-pg-'))
  const clean = (): Promise<void> => rm(sockets, { recursive: true, force: true })
  try {
    if (account !== undefined) await chown(sockets, account.uid, account.gid)
    if (!existsSync(join(directory, 'PG_VERSION'))) await makeData(options)
    const args = ['-D', directory, '-k', sockets, '-p', String(PORT)]
    const child = launch([join(programs.folder, 'postgres'), ...args], {
      logFile,
      directory,
      account,
      environment: process.env,
    })
    await untilReady(options, { child, sockets })
    const url = `postgres://${USER}@localhost:${PORT}/${DATABASE}?host=${encodeURIComponent(sockets)}`
    const stop = async (): Promise<void> => {
      // SIGINT: ends at once what is connected, and writes down what it has.
      await endChild(child, { signal: 'SIGINT', withinMs: STOP_MS_MAX })
      await clean()
    }
    return { url, pid: child.pid ?? 0, logFile, stop }
  } catch (thrown) {
    await clean()
    throw thrown
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
    const why = said.trim() === '' ? messageOf(thrown) : said.trim()
    throw new Fault('storage-failed', `PostgreSQL could not make its files in ${directory}: ${why}`)
  }
  const settings = [
    "listen_addresses = ''",
    `max_connections = ${CONNECTIONS_MAX}`,
    'shared_buffers = 32MB',
    '',
  ]
  await appendFile(join(directory, 'postgresql.conf'), settings.join('\n'))
}

interface Starting {
  readonly child: ChildProcess
  readonly sockets: string
}

async function untilReady(
  { programs, logFile }: OwnDatabaseOptions,
  { child, sockets }: Starting,
): Promise<void> {
  const ask = promisify(execFile)
  const args = ['-h', sockets, '-p', String(PORT), '-q']
  const untilMs = performance.now() + START_MS_MAX
  while (isAlive(child) && performance.now() < untilMs) {
    const isReady = await ask(join(programs.folder, 'pg_isready'), args).then(
      () => true,
      () => false,
    )
    if (isReady) return
    await wait(LOOK_MS)
  }
  await endChild(child, { signal: 'SIGQUIT', withinMs: STOP_MS_MAX })
  const said = await readFile(logFile, 'utf8')
  throw new Fault('storage-failed', `PostgreSQL did not start:\n${said.slice(-LAST_CHARS).trim()}`)
}
