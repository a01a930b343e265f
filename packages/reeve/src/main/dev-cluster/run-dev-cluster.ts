import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { EXIT_CODES, type Terminal } from '../../cli/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { makeDirectory } from '../data-directory.ts'
import { PRODUCT_ROOT } from '../product-root.ts'
import { readVersion } from '../version.ts'
import { renderClusterBanner } from './cluster-banner.ts'
import { DevCluster, type DevClusterOptions } from './dev-cluster.ts'
import { findPostgres } from './find-postgres.ts'
import { findFreePorts } from './free-ports.ts'
import { findPackagedPostgres } from './packaged-postgres.ts'

export interface DevClusterRequest {
  readonly servers: number
  readonly clients: number
  readonly httpPort: number
  /** Undefined: PostgreSQL is started for it. */
  readonly database: string | undefined
  readonly postgres: string | undefined
  /** Undefined: a temporary one, removed at the end. */
  readonly dataDirectory: string | undefined
  readonly acl: boolean
  readonly terminal: Terminal
}

/** `reeve dev-cluster`: starts everything, tells what happens, and ends it at a signal. */
export async function runDevCluster(request: DevClusterRequest): Promise<number> {
  const { terminal } = request
  const signals = listen()
  let directory: string | undefined
  try {
    const found = findDatabase(request)
    directory = await takeDirectory(request.dataDirectory)
    terminal.err('Starting the servers…\n')
    const cluster = await DevCluster.start(await optionsOf(request, { directory, ...found }))
    try {
      if (!signals.isAsked()) terminal.out(bannerOf(cluster, request, directory))
      await signals.asked
      terminal.err('Stopping; a second Ctrl-C returns at once, and the rest ends by itself.\n')
    } finally {
      await cluster.stop()
    }
    return EXIT_CODES.ok
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
    terminal.err(`${thrown.message}\n`)
    return EXIT_CODES.failed
  } finally {
    if (request.dataDirectory === undefined && directory !== undefined)
      await rm(directory, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    signals.end()
  }
}

type Database = Pick<DevClusterOptions, 'database'>

function findDatabase({ database, postgres }: DevClusterRequest): Database {
  if (database !== undefined) return { database: { url: database } }
  const isRoot = process.getuid?.() === 0
  const search = {
    given: postgres === undefined ? undefined : resolve(postgres),
    path: process.env['PATH'] ?? '',
    isRoot,
    packaged: () => findPackagedPostgres(PRODUCT_ROOT, isRoot),
  }
  const programs = findPostgres(search)
  if (!programs.ok) throw new Fault('start', programs.error)
  return { database: { programs: programs.value } }
}

/** Others may pass through it: PostgreSQL has an account of its own, and its folder is below. */
const PASSABLE = 0o711

async function takeDirectory(given: string | undefined): Promise<string> {
  if (given === undefined) {
    const made = await mkdtemp(join(tmpdir(), 'reeve-cluster-'))
    await chmod(made, PASSABLE)
    return made
  }
  await makeDirectory(resolve(given), PASSABLE)
  return resolve(given)
}

async function optionsOf(
  { servers, clients, httpPort, dataDirectory, acl, terminal }: DevClusterRequest,
  place: Database & { readonly directory: string },
): Promise<DevClusterOptions> {
  return {
    ...place,
    serverPorts: await findFreePorts(httpPort, servers),
    clients,
    isTemporary: dataDirectory === undefined,
    acl,
    tell: (sentence) => terminal.out(`${timeOfDay()} ${sentence}\n`),
  }
}

function timeOfDay(): string {
  return new Date().toTimeString().slice(0, 8)
}

function bannerOf(cluster: DevCluster, request: DevClusterRequest, directory: string): string {
  const { leader, servers, nodes, database } = cluster
  return renderClusterBanner({
    version: readVersion(),
    servers: servers.map((server) => {
      const { name, address, process: running } = server
      return { name, address, pid: running.pid, leads: server === leader }
    }),
    nodes: nodes.map(({ plan, pid }) => ({ name: plan.name, pid })),
    databasePid: database?.pid,
    directory,
    isTemporary: request.dataDirectory === undefined,
    acl: request.acl,
  })
}

interface Signals {
  readonly asked: Promise<void>
  isAsked(): boolean
  end(): void
}

/** Two signals closer than this are one. */
const ECHO_MS = 300
const NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const ABORTED = 130

/** The first asks to stop, a later one ends us at once. */
function listen(): Signals {
  const asked = Promise.withResolvers<void>()
  let isAsked = false
  let isEchoOver = false
  const hear = (): void => {
    if (isEchoOver) process.exit(ABORTED)
    if (isAsked) return
    isAsked = true
    void wait(ECHO_MS).then(() => (isEchoOver = true))
    asked.resolve()
  }
  for (const name of NAMES) process.on(name, hear)
  return {
    asked: asked.promise,
    isAsked: () => isAsked,
    end: () => {
      for (const name of NAMES) process.off(name, hear)
    },
  }
}
