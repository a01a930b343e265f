import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Fault } from '@reeve/kit/fault.ts'
import { openPostgresDatabase, RESERVE_BYTES, type DatabaseWait } from '../storage/index.ts'
import type { TlsCredentials } from '../tls/index.ts'
import { ClusterMember } from './cluster-member.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { createDirectory, prepareDataDirectory } from './data-directory.ts'
import { ensureDevToken } from './dev-token.ts'
import { DiskRecovery, OpenFilesMonitor } from './host-watch.ts'
import type { FollowableLog } from './log.ts'
import { collectAfterStart } from './memory-watch.ts'
import { createNode } from './create-node.ts'
import { openTls } from './tls-wiring.ts'
import { createAgentStatus, type AgentStatus } from './agent-status.ts'
import { Server } from './server.ts'
import { warnAboutMissingStorage } from './startup-warnings.ts'
import { loadClusterSecrets, loadServerSecrets, type ConfiguredSecrets } from './secrets.ts'
import { isDiskFault, openServerStorage } from './server-storage.ts'
import { assertNoPartialImport } from './offline-storage.ts'
import { systemClock } from './system.ts'
import { openTracing, type Tracing } from './tracing/tracing.ts'
import { OutageLog } from './outage-log.ts'

export interface RunningAgent {
  /** The bound address as `http://host:port`; empty without a server. */
  readonly httpAddress: string
  /** Bearer token for `/api/v2` in `--dev`; undefined elsewhere. */
  readonly governanceToken: string | undefined
  readonly dataDirectory: string
  /** Drains requests, ends streams, stops the loops, closes the storage. Safe to call twice. */
  stop(): Promise<void>
  /** Settles when the program can no longer do its work. */
  readonly failed: Promise<Fault>
  /** Reloads the certificates. Rejects with a Fault if they are invalid. */
  reload(): Promise<void>
}

/** Starts a server, a node, or both in one process, as configured. */
export async function startAgent(config: AgentConfig, host: ProgramHost): Promise<RunningAgent> {
  const started: (() => Promise<void>)[] = []
  const stop = once(async () => {
    for (const part of started.toReversed()) await part()
  })
  try {
    return await startComponents(config, host, { cleanups: started, stop })
  } catch (thrown) {
    await stop()
    throw thrown
  }
}

interface ProgramHost {
  /** Aborts a start that is waiting. */
  readonly signal?: AbortSignal
  readonly log: FollowableLog
  /** The version that this program reports. */
  readonly version: string
}

interface StartupContext {
  /** Stop functions of the parts in start order. */
  readonly cleanups: (() => Promise<void>)[]
  readonly stop: () => Promise<void>
}

async function startComponents(
  config: AgentConfig,
  { log, version, signal }: ProgramHost,
  { cleanups, stop }: StartupContext,
): Promise<RunningAgent> {
  const { dataDirectory } = config
  await prepareDataDirectory(dataDirectory)
  if (config.isDataTemporary)
    cleanups.push(() => rm(dataDirectory, { recursive: true, force: true }))
  const failed = Promise.withResolvers<Fault>()
  const self = createAgentStatus(config, version, log.feed)
  const openFiles = new OpenFilesMonitor({ log, clock: systemClock })
  openFiles.start()
  cleanups.push(() => openFiles.stop())
  const tls = await openTls(config)
  const tracing = openTracing(config, { log, version })
  if (tracing !== undefined) cleanups.push(() => tracing.close())
  const shared = {
    config,
    log,
    version,
    status: self,
    cleanups,
    failed: failed.resolve,
    tls,
    tracing,
  }
  const parts = signal === undefined ? shared : { ...shared, signal }
  const served = config.server.enabled ? await startServer(parts) : undefined
  if (config.client.enabled) await startNode(parts, served)
  const cancelCollection = collectAfterStart({ clock: systemClock })
  cleanups.push(async () => cancelCollection())
  return {
    httpAddress: served?.httpAddress ?? '',
    governanceToken: served?.governanceToken,
    dataDirectory,
    stop,
    failed: failed.promise,
    reload: async () => await tls?.reload(),
  }
}

interface ComponentOptions extends ProgramHost {
  readonly config: AgentConfig
  readonly status: AgentStatus
  readonly cleanups: (() => Promise<void>)[]
  readonly failed: (fault: Fault) => void
  /** Undefined without TLS. */
  readonly tls: TlsCredentials | undefined
  readonly tracing: Tracing | undefined
}

interface StartedServer {
  readonly httpAddress: string
  readonly governanceToken: string | undefined
  readonly joinToken: string
}

async function startServer(parts: ComponentOptions): Promise<StartedServer> {
  const { config, log, version, status, cleanups, failed, tls, tracing } = parts
  const directory = join(config.dataDirectory, 'server')
  await createDirectory(directory)
  if (config.server.database !== undefined) return await startClusterMember(parts, directory)
  await assertNoPartialImport(config.dataDirectory)
  warnAboutMissingStorage(directory, log)
  const storage = join(directory, 'storage')
  const reserveBytes = reserveSize(config)
  const opening = openServerStorage(storage, { storageLog: log, version, reserveBytes })
  const { engine, shortage } = await opening
  const state = { name: storage, lastIndex: engine.initialPosition.lastIndex }
  const secrets = await loadServerSecrets({ directory, state }, configuredSecrets(config)).catch(
    async (thrown: unknown) => {
      await engine.close()
      throw thrown
    },
  )
  const server = await Server.open({
    config,
    log,
    engine,
    secrets,
    version,
    agent: status,
    tls,
    tracing,
    shortage,
  })
  const keeper = new DiskRecovery({
    store: server.store,
    engine,
    clock: systemClock,
    log,
    pause: () => server.pause(),
    resume: () => server.resume(),
  })
  cleanups.push(async () => {
    await keeper.stop()
    await server.stop()
  })
  server.onFault((fault) => (isDiskFault(fault) ? keeper.onWriteFault(fault) : failed(fault)))
  if (shortage !== undefined) keeper.startRestricted(shortage)
  const httpAddress = await server.listen(config.bind, config.ports.http)
  status.setServer(httpAddress, server)
  const isWritable = server.fault === undefined
  const governanceToken =
    config.dev && isWritable ? await ensureDevToken(server.context, directory) : undefined
  return { httpAddress, governanceToken, joinToken: secrets.joinToken }
}

/** A temporary data directory needs no reserve. */
function reserveSize({ dev, isDataTemporary }: AgentConfig): number {
  return dev || isDataTemporary ? 0 : RESERVE_BYTES
}

/** Starts a server of a cluster, whose state is in the shared database. */
async function startClusterMember(
  parts: ComponentOptions,
  directory: string,
): Promise<StartedServer> {
  const { config, cleanups } = parts
  const wait = createDatabaseWait(parts)
  const { commitTimeoutMs } = config.server
  const url = config.server.database?.reveal() ?? ''
  const database = await openPostgresDatabase(url, { wait, commitMsMax: commitTimeoutMs })
  cleanups.push(() => database.close())
  const engine = await database.openEngine()
  const state = {
    name: `the database ${database.name}`,
    lastIndex: engine.initialPosition.lastIndex,
  }
  await engine.close()
  const secrets = await loadClusterSecrets({ directory, state }, configuredSecrets(config))
  const member = await ClusterMember.start({ ...parts, database, secrets })
  cleanups.push(() => member.stop())
  const { httpAddress } = member
  return { httpAddress, governanceToken: undefined, joinToken: secrets.joinToken }
}

/** Logs that the server waits for its database, which may start later. */
function createDatabaseWait({
  log,
  signal = new AbortController().signal,
}: ComponentOptions): DatabaseWait {
  const teller = new OutageLog({
    monotonicMs: () => performance.now(),
    onFailure: (err) =>
      log.warn({ err }, 'waiting for the database; the server starts when it answers'),
    onRecovery: () => undefined,
  })
  return { signal, onUnreachable: (why) => teller.failed(why) }
}

function configuredSecrets({ server }: AgentConfig): ConfiguredSecrets {
  return {
    joinToken: server.joinToken?.reveal(),
    clusterKey: server.clusterKey?.reveal(),
    previousClusterKeys: server.previousClusterKeys.map((key) => key.reveal()),
  }
}

/**
 * Starts a node, which connects to servers and opens no port. With a temporary directory, its tasks
 * end together with the program.
 */
async function startNode(
  parts: ComponentOptions,
  served: StartedServer | undefined,
): Promise<void> {
  const { config, log, version, status, cleanups, tls, tracing } = parts
  const { node, servers } = createNode(config, {
    log,
    version,
    httpAddress: served?.httpAddress,
    joinToken: served?.joinToken,
    tls,
    tracer: tracing?.tracer,
  })
  await node.start()
  status.setNode(node, servers)
  cleanups.push(() => node.stop({ killTasks: config.isDataTemporary }))
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => (running ??= run())
}
