import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Fault } from '@reeve/kit/fault.ts'
import { openPostgresDatabase, RESERVE_BYTES, type DatabaseWait } from '../storage/index.ts'
import type { Tls } from '../tls/index.ts'
import { ClusterMember } from './cluster-member.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { makeDirectory, prepareDataDirectory } from './data-directory.ts'
import { devToken } from './dev-token.ts'
import { DiskKeeper } from './disk-keeper.ts'
import type { FollowableLog } from './log.ts'
import { collectAfterStart } from './memory-watch.ts'
import { createNode } from './node.ts'
import { OpenFilesWatch } from './open-files-watch.ts'
import { openTls } from './port-security.ts'
import { describeAgent, type AgentSelf } from './self.ts'
import { Server } from './server.ts'
import { warnOfLostStorage } from './lost-state.ts'
import { loadClusterSecrets, loadServerSecrets, type ConfiguredSecrets } from './server-secrets.ts'
import { isDiskFault, openServerStorage } from './server-storage.ts'
import { assertNothingMoving } from './storage-place.ts'
import { systemClock } from './system.ts'
import { openTracing, type Tracing } from './tracing/tracing.ts'
import { TroubleTeller } from './trouble-teller.ts'

export interface RunningProgram {
  /** `http://host:port`, with the port that was really taken; empty for a node alone. */
  readonly httpAddress: string
  /** Bearer token for `/api/v2` in `--dev`; undefined elsewhere. */
  readonly governanceToken: string | undefined
  readonly dataDirectory: string
  /** Drains requests, ends streams, stops the loops, closes the storage. Safe to call twice. */
  stop(): Promise<void>
  /** Settles when the program can no longer do its work. */
  readonly failed: Promise<Fault>
  /** Reads the certificates again; rejects with a Fault when they are not right. */
  reload(): Promise<void>
}

/** Starts what the configuration asks for: a server, a node, or both in one process. */
export async function startProgram(
  config: AgentConfig,
  host: ProgramHost,
): Promise<RunningProgram> {
  const started: (() => Promise<void>)[] = []
  const stop = once(async () => {
    for (const part of started.toReversed()) await part()
  })
  try {
    return await startParts(config, host, { started, stop })
  } catch (thrown) {
    await stop()
    throw thrown
  }
}

export interface ProgramHost {
  /** Ends a start that waits for something. */
  readonly signal?: AbortSignal
  readonly log: FollowableLog
  /** What this program calls itself to others. */
  readonly version: string
}

interface Parts {
  /** How each part is stopped, in order of their start. */
  readonly started: (() => Promise<void>)[]
  readonly stop: () => Promise<void>
}

async function startParts(
  config: AgentConfig,
  { log, version, signal }: ProgramHost,
  { started, stop }: Parts,
): Promise<RunningProgram> {
  const { dataDirectory } = config
  await prepareDataDirectory(dataDirectory)
  if (config.isDataTemporary)
    started.push(() => rm(dataDirectory, { recursive: true, force: true }))
  const failed = Promise.withResolvers<Fault>()
  const self = describeAgent(config, version, log.feed)
  const openFiles = new OpenFilesWatch({ log, clock: systemClock })
  openFiles.start()
  started.push(() => openFiles.stop())
  const tls = await openTls(config)
  const tracing = openTracing(config, { log, version })
  if (tracing !== undefined) started.push(() => tracing.close())
  const shared = { config, log, version, self, started, failed: failed.resolve, tls, tracing }
  const parts = signal === undefined ? shared : { ...shared, signal }
  const served = config.server.enabled ? await startServer(parts) : undefined
  if (config.client.enabled) await startNode(parts, served)
  const cancelCollection = collectAfterStart({ clock: systemClock })
  started.push(async () => cancelCollection())
  return {
    httpAddress: served?.httpAddress ?? '',
    governanceToken: served?.governanceToken,
    dataDirectory,
    stop,
    failed: failed.promise,
    reload: async () => await tls?.reload(),
  }
}

interface PartOptions extends ProgramHost {
  readonly config: AgentConfig
  readonly self: AgentSelf
  readonly started: (() => Promise<void>)[]
  readonly failed: (fault: Fault) => void
  /** Undefined where nothing is encrypted. */
  readonly tls: Tls | undefined
  readonly tracing: Tracing | undefined
}

interface Served {
  readonly httpAddress: string
  readonly governanceToken: string | undefined
  readonly joinToken: string
}

async function startServer(parts: PartOptions): Promise<Served> {
  const { config, log, version, self, started, failed, tls, tracing } = parts
  const directory = join(config.dataDirectory, 'server')
  await makeDirectory(directory)
  if (config.server.database !== undefined) return await startMember(parts, directory)
  await assertNothingMoving(config.dataDirectory)
  warnOfLostStorage(directory, log)
  const storage = join(directory, 'storage')
  const reserveBytes = reserveBytesOf(config)
  const opening = openServerStorage(storage, { log, version, reserveBytes })
  const { engine, shortage } = await opening
  const state = { name: storage, lastIndex: engine.opened.lastIndex }
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
    agent: self,
    tls,
    tracing,
    shortage,
  })
  const keeper = new DiskKeeper({
    store: server.store,
    engine,
    clock: systemClock,
    log,
    pause: () => server.pause(),
    resume: () => server.resume(),
  })
  started.push(async () => {
    await keeper.stop()
    await server.stop()
  })
  server.onFault((fault) => (isDiskFault(fault) ? keeper.failed(fault) : failed(fault)))
  if (shortage !== undefined) keeper.startShort(shortage)
  const httpAddress = await server.listen(config.bind, config.ports.http)
  self.serve(httpAddress, server)
  const isWritable = server.fault === undefined
  const governanceToken =
    config.dev && isWritable ? await devToken(server.context, directory) : undefined
  return { httpAddress, governanceToken, joinToken: secrets.joinToken }
}

/** A directory that goes with the program is not worth a reserve. */
function reserveBytesOf({ dev, isDataTemporary }: AgentConfig): number {
  return dev || isDataTemporary ? 0 : RESERVE_BYTES
}

/** One of several servers: its state is in the database that they share. */
async function startMember(parts: PartOptions, directory: string): Promise<Served> {
  const { config, started } = parts
  const wait = databaseWait(parts)
  const { commitMsMax } = config.server
  const url = config.server.database?.reveal() ?? ''
  const database = await openPostgresDatabase(url, { wait, commitMsMax })
  started.push(() => database.close())
  const engine = await database.openEngine()
  const state = { name: `the database ${database.name}`, lastIndex: engine.opened.lastIndex }
  await engine.close()
  const secrets = await loadClusterSecrets({ directory, state }, configuredSecrets(config))
  const member = await ClusterMember.start({ ...parts, database, secrets })
  started.push(() => member.stop())
  const { httpAddress } = member
  return { httpAddress, governanceToken: undefined, joinToken: secrets.joinToken }
}

/** A server may start before its database: it waits, and says what for. */
function databaseWait({ log, signal = new AbortController().signal }: PartOptions): DatabaseWait {
  const teller = new TroubleTeller({
    monotonicMs: () => performance.now(),
    tell: (err) => log.warn({ err }, 'waiting for the database; the server starts when it answers'),
    over: () => undefined,
  })
  return { signal, waiting: (why) => teller.failed(why) }
}

function configuredSecrets({ server }: AgentConfig): ConfiguredSecrets {
  return { joinToken: server.joinToken?.reveal(), clusterKey: server.clusterKey?.reveal() }
}

/**
 * A node alone opens no port: it dials the servers. Tasks of a throw-away directory end with the
 * program.
 */
async function startNode(parts: PartOptions, served: Served | undefined): Promise<void> {
  const { config, log, version, self, started, tls, tracing } = parts
  const { node, servers } = createNode(config, {
    log,
    version,
    httpAddress: served?.httpAddress,
    joinToken: served?.joinToken,
    tls,
    tracer: tracing?.tracer,
  })
  await node.start()
  self.runNode(node, servers)
  started.push(() => node.stop({ killTasks: config.isDataTemporary }))
}

function once(run: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => (running ??= run())
}
