import type { AuditActor, AuditRecord, AuditVia } from '@reeve/contract'
import type { Change, AuditSubject, Stamp } from './change.ts'
import type { Commit } from './commit.ts'
import type { TableName } from './schema/tables.ts'

/**
 * Maximum number of resource IDs and of command arguments in one record; a write may touch a
 * thousand rows.
 */
const RESOURCES_MAX = 20
const RESOURCE_CHARS_MAX = 256
const TIME_DIGITS = 15
const INDEX_DIGITS = 14
const POSITION_DIGITS = 4

/** The part of an audit record that is known before the request is executed. */
export interface AuditEntry {
  readonly actor: AuditActor
  /** Address of the client. */
  readonly address: string
  readonly requestId: string
  readonly method: string
  /** Path and id of the route, as the contract has them. */
  readonly route: string
  readonly action: string
  /** The status that a request of this route succeeds with. */
  readonly successStatus: number
  readonly namespace: string
  /** Ids that the path of the request names. */
  readonly pathResources: readonly string[]
  /** How another region forwarded the request, as reported by that region. */
  readonly via?: AuditVia | undefined
  /** Client program as the request declares it; undefined for other programs. */
  readonly client?: 'cli' | 'web' | undefined
}

/**
 * On whose behalf a commit is made: of a request, which leaves a record in that commit, or of the
 * server itself. A request leaves one record: if it makes several commits, the first one that
 * changes something has the entry and the others are the system's.
 */
export type CommitAuthor = AuditEntry | 'system'

/**
 * Called when a commit is applied, with its author and a promise that resolves when it is durable.
 */
export type CommitObserver = (
  commit: Commit,
  about: { readonly by: CommitAuthor; readonly durable: Promise<void> },
) => void

/** For use cases that need only the author of their commits. */
export interface Author {
  readonly by: CommitAuthor
}

/** Author of commits that the server makes on its own. */
export const SYSTEM: Author = { by: 'system' }

/** A commit that is about to be made. */
interface AuditedCommit extends Stamp {
  readonly changes: readonly Change[]
  readonly auditSubject: AuditSubject | undefined
}

/** The record of a request that is made durable together with what the request changed. */
export function auditRecord(entry: AuditEntry, commit: AuditedCommit): AuditRecord {
  const { timeMs, index, auditSubject, changes } = commit
  return buildRecord(entry, {
    ID: auditKey(timeMs, index),
    timeMs,
    namespace: namespaceOfChanges(changes) ?? entry.namespace,
    organizationId: auditSubject?.organizationId ?? '',
    resources: auditSubject?.resourceIds ?? changedResourceIds(changes),
    status: entry.successStatus,
  })
}

/** How a request ended that made no commit of its own. */
export interface AuditOutcome {
  readonly status: number
  readonly organizationId?: string
  readonly command?: readonly string[]
}

/** The record of a request that changed no state, without its id. */
export function outcomeRecord(
  entry: AuditEntry,
  { status, organizationId, command }: AuditOutcome,
  timeMs: number,
): AuditRecord {
  const record = buildRecord(entry, {
    ID: '',
    timeMs,
    namespace: entry.namespace,
    organizationId: organizationId ?? '',
    resources: [],
    status,
  })
  return command === undefined ? record : { ...record, Command: truncateCommand(command) }
}

interface RecordDetails {
  readonly ID: string
  readonly timeMs: number
  readonly namespace: string
  readonly organizationId: string
  readonly resources: readonly string[]
  readonly status: number
}

/** Part of every write, so it is one literal instead of copies of copies. */
function buildRecord(entry: AuditEntry, details: RecordDetails): AuditRecord {
  const record: AuditRecord = {
    ID: details.ID,
    Time: formatTime(details.timeMs),
    Actor: entry.actor,
    Address: entry.address,
    RequestID: entry.requestId,
    Method: entry.method,
    Route: entry.route,
    Action: entry.action,
    Namespace: details.namespace,
    OrganizationID: details.organizationId,
    Resources: uniqueIds(entry.pathResources, details.resources),
    Status: details.status,
  }
  return entry.via === undefined ? record : { ...record, Via: entry.via }
}

let lastTime = { ms: 0, text: new Date(0).toISOString() }

/**
 * Formats a time; caches the last result, because many writes share a millisecond and formatting
 * takes longer than the rest of a record.
 */
function formatTime(ms: number): string {
  if (lastTime.ms !== ms) lastTime = { ms, text: new Date(ms).toISOString() }
  return lastTime.text
}

function uniqueIds(pathIds: readonly string[], changedIds: readonly string[]): readonly string[] {
  const ids: string[] = []
  for (const list of [pathIds, changedIds])
    for (const id of list) {
      if (ids.length === RESOURCES_MAX) return ids
      const text = id.slice(0, RESOURCE_CHARS_MAX)
      if (!ids.includes(text)) ids.push(text)
    }
  return ids
}

function truncateCommand(command: readonly string[]): readonly string[] {
  return command.slice(0, RESOURCES_MAX).map((part) => part.slice(0, RESOURCE_CHARS_MAX))
}

/**
 * The field that identifies a row, for the tables that requests of `/v1` write to. Rows that follow
 * from a write, such as evaluations, are left out.
 */
const RESOURCE_ID_FIELD: { readonly [N in TableName]?: string } = {
  acl_policies: 'Name',
  acl_roles: 'ID',
  acl_tokens: 'AccessorID',
  deployments: 'ID',
  jobs: 'ID',
  namespaces: 'Name',
  node_pools: 'Name',
  nodes: 'ID',
  settings: 'Name',
  variables: 'Path',
}

/**
 * IDs of the rows that a commit of `/v1` writes; deleted rows are identified by the request path.
 * Registering an unchanged job only creates an evaluation, which then identifies the job.
 */
function changedResourceIds(changes: readonly Change[]): readonly string[] {
  const ids = changes.flatMap(
    (change) => stringField(change, RESOURCE_ID_FIELD[change.table]) ?? [],
  )
  if (ids.length > 0) return ids
  return changes.flatMap((one) =>
    one.table === 'evaluations' ? (stringField(one, 'JobID') ?? []) : [],
  )
}

/** The namespace of a job or variable: the body of a request may name it instead of the query. */
function namespaceOfChanges(changes: readonly Change[]): string | undefined {
  for (const change of changes) {
    const found =
      RESOURCE_ID_FIELD[change.table] === undefined ? undefined : stringField(change, 'Namespace')
    if (found !== undefined) return found
  }
  return undefined
}

function stringField({ row }: Change, field: string | undefined): string | undefined {
  if (row === undefined || field === undefined) return undefined
  const value: unknown = Reflect.get(row, field)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Keys sort by time, so a time range needs no index; then by commit and position in it. */
export function auditKey(timeMs: number, commitIndex: number, position = 0): string {
  const index = String(commitIndex).padStart(INDEX_DIGITS, '0')
  return `${auditTimeKey(timeMs)}-${index}-${String(position).padStart(POSITION_DIGITS, '0')}`
}

/** Prefix that sorts before all keys of this time and after all keys of earlier times. */
export function auditTimeKey(timeMs: number): string {
  return String(Math.max(0, Math.floor(timeMs))).padStart(TIME_DIGITS, '0')
}
