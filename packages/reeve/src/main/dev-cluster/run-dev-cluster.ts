import { once } from 'node:events'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { EXIT_CODES, type TextOutput } from '../../cli/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import { setupTexts } from '../build-stamp.ts'
import { createDirectory } from '../data-directory.ts'
import { installation } from '../installation.ts'
import { readVersion } from '../version.ts'
import { DevCluster, type DevClusterOptions } from './dev-cluster.ts'
import { findPackagedPostgres, findPostgres } from './find-postgres.ts'

interface DevClusterRequest {
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

const PORT_MAX = 65_535
/** Maximum number of ports tried. */
const ATTEMPTS_MAX = 200

/** Finds free ports from `first` upward, or any if `first` is 0. */
async function findFreePorts(first: number, count: number): Promise<readonly number[]> {
  const found: number[] = []
  for (let tries = 0; found.length < count && tries < ATTEMPTS_MAX; tries++) {
    const wanted = first === 0 ? 0 : first + tries
    if (wanted > PORT_MAX) break
    const port = await tryPort(wanted)
    if (port !== undefined && !found.includes(port)) found.push(port)
  }
  if (found.length === count) return found
  throw new Fault(
    'start',
    `There are no ${count} free ports from ${first} on; choose others with --http-port.`,
  )
}

async function tryPort(wanted: number): Promise<number | undefined> {
  const server = createServer()
  try {
    server.listen(wanted, '127.0.0.1')
    await once(server, 'listening')
  } catch {
    return undefined // taken, or not ours to take
  }
  const address = server.address()
  server.close()
  await once(server, 'close')
  return typeof address === 'object' ? address?.port : undefined
}

/** Input of the cluster banner. */
interface ClusterBannerInput {
  readonly version: string
  readonly servers: readonly ServerStatus[]
  readonly nodes: readonly { readonly name: string; readonly pid: number }[]
  /** PID of the PostgreSQL process that the cluster started. */
  readonly databasePid: number | undefined
  readonly directory: string
  readonly isTemporary: boolean
  readonly acl: boolean
}

interface ServerStatus {
  readonly name: string
  readonly address: string
  readonly pid: number
  readonly isLeader: boolean
}

/** Renders the start banner of a cluster: addresses, token and things to try. */
function renderClusterBanner(facts: ClusterBannerInput): string {
  const { version, servers, nodes } = facts
  const head = `Reeve ${version} runs as ${formatCount(servers.length, 'server')} on one PostgreSQL, with ${formatCount(nodes.length, 'node')}.`
  const rows = bannerRows(facts)
  const width = Math.max(...rows.map(([name]) => name.length))
  const table = rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd())
  const steps = bannerSteps(facts).map(([says, line]) => `  ${says}\n    ${line}`)
  const what = `What to try, in a second terminal${setupTexts.commandNote}:`
  const end = 'Ctrl-C stops everything. Events of the servers follow.'
  return `${[head, '', ...table, '', what, ...steps, '', end].join('\n')}\n`
}

function formatCount(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

type Row = readonly [name: string, text: string]

function bannerRows({
  servers,
  nodes,
  databasePid,
  directory,
  isTemporary,
  acl,
}: ClusterBannerInput): Row[] {
  const database = databasePid === undefined ? 'the one of --database' : `pid ${databasePid}`
  return [
    ...servers.map(({ name, address, pid, isLeader }): Row => [
      name,
      `${address}  pid ${pid}${isLeader ? '  leads' : ''}`,
    ]),
    ...nodes.map(({ name, pid }): Row => [name, `pid ${pid}`]),
    ['PostgreSQL', database],
    ['Web UI', `${suggestedServer(servers)?.address ?? ''}/ui/`],
    ['Data', `${directory}${isTemporary ? ' (removed at the end; --data-dir keeps it)' : ''}`],
    ['Logs', `${directory}/logs`],
    ['ACLs', acl ? 'enabled' : 'disabled: anyone who can reach /v1 has full access'],
  ]
}

/** Selects a follower, which remains available when the user kills the leader. */
function suggestedServer(servers: readonly ServerStatus[]): ServerStatus | undefined {
  return servers.find(({ isLeader }) => !isLeader) ?? servers[0]
}

function bannerSteps({ servers, nodes, acl }: ClusterBannerInput): readonly Row[] {
  const address = suggestedServer(servers)?.address ?? ''
  const leader = servers.find(({ isLeader }) => isLeader)
  const steps: Row[] = [
    [
      'Talk to a server that does not lead; it passes on what it must:',
      `export REEVE_ADDR=${address}`,
    ],
  ]
  if (acl) steps.push(['Make the first token, then keep it:', 'reeve acl bootstrap && reeve login'])
  if (nodes.length > 0)
    steps.push([
      'Write a first job file and run it:',
      'reeve job init && reeve job run example.hcl',
    ])
  steps.push(
    ['Watch what happens, from any server:', 'reeve event stream'],
    ['See the servers, and who leads:', 'reeve server members'],
  )
  if (servers.length > 1 && leader !== undefined)
    steps.push(
      [`Kill the leader (${leader.name}); another takes over within 5 s:`, `kill -9 ${leader.pid}`],
      ['See that the job went on, on the same allocation:', 'reeve job status example'],
    )
  return steps
}
