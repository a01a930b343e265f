import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import {
  v1Routes,
  type ClusterLevelResponse,
  type DatabaseLossResponse,
  type SchedulerConfigurationResponse,
  type SchedulerConfigurationUpdate,
  type SnapshotRestoreResponse,
  SNAPSHOT_VERSION,
  type SnapshotLine,
} from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { assert } from '@reeve/kit/fault.ts'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { LIMITS, refusal, type Refusal, invalidInput } from '../../model/index.ts'
import {
  type Author,
  clusterLevel,
  findAuditRecords,
  schedulerConfiguration,
  type StateSnapshot,
  type Store,
  takeSnapshot,
} from '../../state/index.ts'
import {
  reachableLevel,
  raiseClusterLevel,
  writeSchedulerConfiguration,
  type ServerBuild,
  type WorkloadContext,
  forceGarbageCollection,
  recountSummaries,
} from '../../workload/index.ts'
import { type AuditLog, parseRfc3339 } from '../../audit/index.ts'
import { EMPTY_RESPONSE, type HttpResponse, json, jsonItems, TEXT_PLAIN } from '../response.ts'
import type { AgentInfo } from './agent.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type WriteResult,
  type WriteRequestOf,
  type V1Request,
} from './endpoint.ts'
import { management, operatorRead, operatorWrite } from './access.ts'
import { responseMeta } from './responses.ts'

const BODY_ERROR_PREFIX = 'Error parsing scheduler config: '
/** An unsigned 64-bit number has at most 20 digits. */
const UNSIGNED = /^\d{1,20}$/
const QUOTED_CHARS_MAX = 64

type OperatorAgent = Pick<AgentInfo, 'acceptLoss' | 'member' | 'members'>

/** Returns the routes for scheduler settings and for decisions about the cluster. */
export function operatorEndpoints(
  context: WorkloadContext,
  agent: OperatorAgent,
): readonly Endpoint[] {
  const { store } = context
  return [
    write(v1Routes.acceptDatabaseLoss, operatorWrite, ({ caller }) =>
      acceptLoss(context, agent, caller),
    ),
    read(v1Routes.readClusterLevel, operatorRead, () => ok(readLevelPlan(store, agent))),
    write(v1Routes.raiseClusterLevel, operatorWrite, ({ caller }) =>
      raiseLevelRoute(store, agent, caller),
    ),
    read(v1Routes.readSchedulerConfiguration, operatorRead, () => ok(readConfiguration(store))),
    {
      ...write(v1Routes.writeSchedulerConfiguration, operatorWrite, (request) =>
        storeConfiguration(context, request),
      ),
      bodyErrorPrefix: BODY_ERROR_PREFIX,
    },
  ]
}

function readConfiguration({ tables }: Store): WatchedRead {
  return {
    index: () => tables.settings.lastIndex,
    watch: [{ table: 'settings' }],
    respond: () => {
      const SchedulerConfig = schedulerConfiguration(tables)
      const body: SchedulerConfigurationResponse = {
        SchedulerConfig,
        ...responseMeta(SchedulerConfig.ModifyIndex),
      }
      return ok(json(body))
    },
  }
}

/** Returns the builds of all servers except those that have left for good. */
function serverBuilds(agent: OperatorAgent): readonly ServerBuild[] {
  const remaining = agent.members().filter(({ Status }) => Status !== 'left')
  return remaining.map(({ Name, Tags }) => ({ name: Name, build: Tags['build'] ?? '' }))
}

function readLevelPlan(store: Store, agent: OperatorAgent): WatchedRead {
  return {
    index: () => store.tables.settings.lastIndex,
    watch: [{ table: 'settings' }],
    respond: () => ok(json(levelBody(store, agent, store.tables.settings.lastIndex))),
  }
}

function levelBody(store: Store, agent: OperatorAgent, index: number): ClusterLevelResponse {
  return {
    Level: clusterLevel(store.tables),
    Possible: reachableLevel(store, serverBuilds(agent)),
    ...responseMeta(index),
  }
}

async function raiseLevelRoute(
  store: Store,
  agent: OperatorAgent,
  caller: WriteRequestOf<typeof v1Routes.raiseClusterLevel>['caller'],
): Promise<Result<WriteResult, Refusal>> {
  const build = agent.member().Tags['build'] ?? ''
  const raised = await raiseClusterLevel(store, caller, { build, servers: serverBuilds(agent) })
  if (!raised.ok) return raised
  const { index } = raised.value
  return ok({ index, response: json(levelBody(store, agent, index)) })
}

const NO_DATABASE: Refusal = refusal(
  'invalid-input',
  'This server keeps its state in its data directory: there is no database that could lose commits.',
)

async function acceptLoss(
  { store }: WorkloadContext,
  agent: Pick<AgentInfo, 'acceptLoss'>,
  { accessorId }: Caller,
): Promise<Result<WriteResult, Refusal>> {
  const accepted = await agent.acceptLoss?.(accessorId)
  if (accepted === undefined) return err(NO_DATABASE)
  const body: DatabaseLossResponse = {
    Accepted: accepted.map(({ fromIndex, toIndex }) => {
      return { FromIndex: fromIndex, ToIndex: toIndex, Commits: toIndex - fromIndex + 1 }
    }),
  }
  return ok({ index: store.durableIndex, response: json(body) })
}

async function storeConfiguration(
  context: WorkloadContext,
  { caller, body, query }: WriteRequestOf<typeof v1Routes.writeSchedulerConfiguration>,
): Promise<Result<WriteResult, Refusal>> {
  if (body === undefined) return invalidInput(`${BODY_ERROR_PREFIX}Request body is empty`)
  const cas = query.cas ?? ''
  if (cas !== '' && !UNSIGNED.test(cas))
    return invalidInput(
      `Error parsing cas value: strconv.ParseUint: parsing "${cas.slice(0, QUOTED_CHARS_MAX)}": invalid syntax`,
    )
  const written = await writeSchedulerConfiguration(
    context,
    caller,
    body,
    cas === '' ? undefined : Number(cas),
  )
  if (!written.ok) return written
  const { updated, index } = written.value
  const responseBody: SchedulerConfigurationUpdate = { Updated: updated, Index: index }
  return ok({ index, response: json(responseBody) })
}

/** Lines are combined into chunks of this size. */
const CHUNK_CHARS = 64 * 1024
/** Maximum number of copies of the state, if blobs are deleted while they are read. */
const COPIES_MAX = 5

/** Validates the text of a snapshot and restores it. */
export type SnapshotRestorer = (
  text: string,
  author: Author,
) => Promise<Result<SnapshotRestoreResponse, Refusal>>

/** Returns the routes that save and restore a snapshot of the whole state. */
export function snapshotEndpoints(
  context: WorkloadContext,
  restore?: SnapshotRestorer,
): readonly Endpoint[] {
  return [
    write(v1Routes.restoreSnapshot, management, async ({ body, caller }) => {
      if (restore === undefined) return invalidInput('This server cannot restore snapshots.')
      const restored = await restore(body, caller)
      if (!restored.ok) return restored
      return ok({ index: restored.value.Index, response: json(restored.value) })
    }),
    read(v1Routes.saveSnapshot, management, () =>
      ok({
        index: () => 0,
        watch: [],
        // The snapshot has durable commits only.
        readsState: false,
        respond: async () => ok(await snapshotResponse(context)),
      }),
    ),
  ]
}

/** Returns a snapshot of the current state as bytes. */
export function snapshotChunks(context: SnapshotSource): AsyncIterable<Buffer> {
  return toChunks(snapshotLines(context.store, timeOf(context), { blobs: [] }))
}

function timeOf({ clock }: SnapshotSource): string {
  return isoFromMs(clock.nowMs())
}

type SnapshotSource = Pick<WorkloadContext, 'store' | 'clock'>

/**
 * Sends the digest before the bytes, so that a receiver detects truncation: the snapshot is
 * generated twice, and never stored.
 */
async function snapshotResponse(context: WorkloadContext): Promise<HttpResponse> {
  const { store } = context
  const time = timeOf(context)
  const content: SnapshotContent = { blobs: [] }
  const hash = createHash('sha256')
  for await (const chunk of toChunks(snapshotLines(store, time, content))) hash.update(chunk)
  const headers = { digest: `sha-256=${hash.digest('base64')}` }
  const stream = Readable.from(toChunks(repeatLines(store, time, content)), { objectMode: false })
  return { headers, body: { kind: 'stream', stream, contentType: TEXT_PLAIN } }
}

/** Content of a snapshot, recorded while it is generated. */
interface SnapshotContent {
  readonly blobs: string[]
  copy?: StateSnapshot
}

/**
 * Generates the same lines again. A blob that was deleted meanwhile aborts the response, which the
 * digest reveals.
 */
async function* repeatLines(
  store: Store,
  Time: string,
  { blobs, copy }: SnapshotContent,
): AsyncGenerator<SnapshotLine> {
  yield { Snapshot: 'reeve', Version: SNAPSHOT_VERSION, Time }
  for (const Blob of blobs) {
    const bytes = await store.readBlob(Blob)
    assert(bytes !== undefined, 'a blob was deleted while the snapshot was sent: save it again')
    yield { Blob, Data: Buffer.from(bytes).toString('base64') }
  }
  if (copy !== undefined) yield* rowLines(copy, blobs.length)
}

/**
 * Generates a snapshot. Blobs precede the rows: one may be deleted with its last row while it is
 * being read, and then the rows are copied again, until all of their blobs have been sent.
 */
async function* snapshotLines(
  store: Store,
  Time: string,
  content: SnapshotContent,
): AsyncGenerator<SnapshotLine> {
  yield { Snapshot: 'reeve', Version: SNAPSHOT_VERSION, Time }
  const sent = new Set<string>()
  let copy = await durableCopy(store)
  let absent = new Set<string>()
  for (let copies = 1; ; copies++) {
    const missing = new Set<string>()
    for (const Blob of copy.blobKeys) {
      if (sent.has(Blob)) continue
      const bytes = await store.readBlob(Blob)
      if (bytes === undefined) missing.add(Blob)
      else {
        sent.add(Blob)
        content.blobs.push(Blob)
        yield { Blob, Data: Buffer.from(bytes).toString('base64') }
      }
    }
    // Blobs that are missing from two copies in a row are lost, not just deleted.
    if (copies === COPIES_MAX || [...missing].every((key) => absent.has(key))) break
    absent = missing
    copy = await durableCopy(store)
  }
  content.copy = copy
  yield* rowLines(copy, sent.size)
}

function* rowLines(copy: StateSnapshot, blobs: number): Generator<SnapshotLine> {
  yield { Index: copy.index, Rows: copy.rows.length }
  for (const { table, key, indexes, body } of copy.rows)
    yield { Row: [table, key, ...indexes], Body: body }
  yield { Blobs: blobs, Checksum: '' }
}

async function durableCopy(store: Store): Promise<StateSnapshot> {
  const copy = takeSnapshot(store)
  await store.whenDurable()
  if (store.fault !== undefined) throw store.fault
  return copy
}

/** Combines lines into chunks. The last line gets the checksum of the preceding ones. */
async function* toChunks(lines: AsyncIterable<SnapshotLine>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  let chunk = ''
  for await (const line of lines) {
    if ('Checksum' in line) {
      hash.update(chunk)
      const Checksum = `sha256:${hash.digest('hex')}`
      yield Buffer.from(`${chunk}${JSON.stringify({ ...line, Checksum })}\n`)
      return
    }
    chunk += `${JSON.stringify(line)}\n`
    if (chunk.length < CHUNK_CHARS) continue
    hash.update(chunk)
    yield Buffer.from(chunk)
    chunk = ''
  }
}

export function systemEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    write(v1Routes.collectGarbage, management, async ({ caller }) => {
      await forceGarbageCollection(context, caller)
      return ok({ index: store.durableIndex, response: EMPTY_RESPONSE })
    }),
    write(v1Routes.reconcileSummaries, management, async ({ caller }) => {
      await recountSummaries(context, caller)
      return ok({ index: store.durableIndex, response: EMPTY_RESPONSE })
    }),
  ]
}

const PER_PAGE_DEFAULT = 100

/** Returns the route of the audit log of both APIs, for administrators. */
export function auditEndpoints(context: WorkloadContext, audit: AuditLog): readonly Endpoint[] {
  return [
    read(v1Routes.listAuditRecords, management, (request) =>
      listAuditRecords(context, audit, request),
    ),
  ]
}

function listAuditRecords(
  { store }: WorkloadContext,
  audit: AuditLog,
  { query }: V1Request<typeof v1Routes.listAuditRecords>,
): Result<WatchedRead, Refusal> {
  const since = parseRfc3339(query.since)
  if (!since.ok) return err(refusal('invalid-input', `since: ${since.error}`))
  const until = parseRfc3339(query.until)
  if (!until.ok) return err(refusal('invalid-input', `until: ${until.error}`))
  const perPage = query.per_page || PER_PAGE_DEFAULT
  if (perPage < 0 || perPage > LIMITS.perPageMax)
    return err(refusal('invalid-input', `per_page must be between 0 and ${LIMITS.perPageMax}`))
  return ok({
    index: () => store.tables.audit_records.lastIndex,
    watch: [{ table: 'audit_records' }],
    respond: async (yieldTurn) => {
      audit.flush()
      const { records, nextKey } = await findAuditRecords(store, {
        actorId: query.actor || undefined,
        action: query.action || undefined,
        resource: query.resource || undefined,
        organizationId: query.organization || undefined,
        sinceMs: since.value,
        untilMs: until.value,
        fromKey: query.next_token || undefined,
        offset: 0,
        limit: perPage,
        countAll: false,
        yieldToEventLoop: yieldTurn,
      })
      const items = records.map((record) => JSON.stringify(record))
      return ok(jsonItems(items, nextKey))
    },
  })
}
