import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { EXIT_CODES, type TextOutput } from '../../cli/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { createDirectory } from '../data-directory.ts'
import { installation } from '../installation.ts'
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
  /** Undefined starts a PostgreSQL for the cluster. */
  readonly database: string | undefined
  readonly postgres: string | undefined
  /** Undefined uses a temporary directory. */
  readonly dataDirectory: string | undefined
  readonly acl: boolean
  readonly terminal: TextOutput
}

/** `reeve dev-cluster`: starts the cluster, reports events, and stops it on a signal. */
export async function runDevCluster(request: DevClusterRequest): Promise<number> {
  const { terminal } = request
  const signals = listenForStop()
  let directory: string | undefined
  try {
    const found = findDatabase(request)
    directory = await prepareDirectory(request.dataDirectory)
    terminal.err('Starting the servers…\n')
    const cluster = await DevCluster.start(await clusterOptions(request, { directory, ...found }))
    try {
      if (!signals.isStopRequested()) terminal.out(clusterBanner(cluster, request, directory))
      await signals.stopRequested
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
    directory: postgres === undefined ? undefined : resolve(postgres),
    path: process.env['PATH'] ?? '',
    isRoot,
    findPackaged: () => findPackagedPostgres(installation.root, isRoot),
  }
  const programs = findPostgres(search)
  if (!programs.ok) throw new Fault('start', programs.error)
  return { database: { programs: programs.value } }
}

/**
 * Other users may traverse the directory, because PostgreSQL runs under its own account in a
 * subdirectory.
 */
const TRAVERSABLE_MODE = 0o711

async function prepareDirectory(given: string | undefined): Promise<string> {
  if (given === undefined) {
    const made = await mkdtemp(join(tmpdir(), 'reeve-cluster-'))
    await chmod(made, TRAVERSABLE_MODE)
    return made
  }
  await createDirectory(resolve(given), TRAVERSABLE_MODE)
  return resolve(given)
}

async function clusterOptions(
  { servers, clients, httpPort, dataDirectory, acl, terminal }: DevClusterRequest,
  place: Database & { readonly directory: string },
): Promise<DevClusterOptions> {
  return {
    ...place,
    serverPorts: await findFreePorts(httpPort, servers),
    clients,
    isTemporary: dataDirectory === undefined,
    acl,
    report: (sentence) => terminal.out(`${timeOfDay()} ${sentence}\n`),
  }
}

function timeOfDay(): string {
  return new Date().toTimeString().slice(0, 8)
}

function clusterBanner(cluster: DevCluster, request: DevClusterRequest, directory: string): string {
  const { leader, servers, nodes, database } = cluster
  return renderClusterBanner({
    version: readVersion(),
    servers: servers.map((server) => {
      const { name, address, process: running } = server
      return { name, address, pid: running.pid, isLeader: server === leader }
    }),
    nodes: nodes.map(({ spec, pid }) => ({ name: spec.name, pid })),
    databasePid: database?.pid,
    directory,
    isTemporary: request.dataDirectory === undefined,
    acl: request.acl,
  })
}

interface StopSignals {
  readonly stopRequested: Promise<void>
  isStopRequested(): boolean
  end(): void
}

/** A repeated signal within this time is ignored. */
const DUPLICATE_SIGNAL_MS = 300
const STOP_SIGNAL_NAMES = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
const ABORTED_EXIT_CODE = 130

/** Handles signals: the first stops the cluster, a later one exits immediately. */
function listenForStop(): StopSignals {
  const asked = Promise.withResolvers<void>()
  let isAsked = false
  let isEchoOver = false
  const onSignal = (): void => {
    if (isEchoOver) process.exit(ABORTED_EXIT_CODE)
    if (isAsked) return
    isAsked = true
    void wait(DUPLICATE_SIGNAL_MS).then(() => (isEchoOver = true))
    asked.resolve()
  }
  for (const name of STOP_SIGNAL_NAMES) process.on(name, onSignal)
  return {
    stopRequested: asked.promise,
    isStopRequested: () => isAsked,
    end: () => {
      for (const name of STOP_SIGNAL_NAMES) process.off(name, onSignal)
    },
  }
}
