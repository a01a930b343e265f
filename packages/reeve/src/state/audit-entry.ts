import type { AuditActor, AuditRecord, AuditVia } from '@reeve/contract'
import type { Change, CommitSubject, Stamp } from './change.ts'
import type { Commit } from './commit.ts'
import type { TableName } from './tables.ts'

/** Ids, and parts of a command, kept in one record: a write may touch a thousand things. */
const RESOURCES_MAX = 20
const RESOURCE_CHARS_MAX = 256
const TIME_DIGITS = 15
const INDEX_DIGITS = 14
const PLACE_DIGITS = 4

/** What is known of a request before it is carried out, for its audit record. */
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
  /** How it came from another region, as that region says. */
  readonly via?: AuditVia | undefined
  /** The program that sent it, as it says; undefined for any other. */
  readonly client?: 'cli' | 'web' | undefined
}

/**
 * On whose behalf a commit is made: of a request, which leaves a record in that commit, or of the
 * server itself. A request leaves one record: if it makes several commits, the first one that
 * changes something has the entry and the others are the system's.
 */
export type CommitAuthor = AuditEntry | 'system'

/** Told of a commit as it is applied, of its author, and of when it is durable. */
export type CommitObserver = (
  commit: Commit,
  about: { readonly by: CommitAuthor; readonly durable: Promise<void> },
) => void

/** Whoever may commit, for use cases that need no more of their caller. */
export interface Author {
  readonly by: CommitAuthor
}

/** For what the server does by itself. */
export const SYSTEM: Author = { by: 'system' }

/** A commit that is about to be made. */
export interface AuditedCommit extends Stamp {
  readonly changes: readonly Change[]
  readonly about: CommitSubject | undefined
}

/** The record of a request that is made durable together with what the request changed. */
export function auditRecord(entry: AuditEntry, commit: AuditedCommit): AuditRecord {
  const { timeMs, index, about, changes } = commit
  return recordOf(entry, {
    ID: auditKey(timeMs, index),
    timeMs,
    namespace: namespaceOfChanges(changes) ?? entry.namespace,
    organizationId: about?.organizationId ?? '',
    resources: about?.subjects ?? changedResourceIds(changes),
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
  const record = recordOf(entry, {
    ID: '',
    timeMs,
    namespace: entry.namespace,
    organizationId: organizationId ?? '',
    resources: [],
    status,
  })
  return command === undefined ? record : { ...record, Command: shortened(command) }
}

interface RecordDetails {
  readonly ID: string
  readonly timeMs: number
  readonly namespace: string
  readonly organizationId: string
  readonly resources: readonly string[]
  readonly status: number
}

/** Part of every write: one literal, no copies of copies. */
function recordOf(entry: AuditEntry, details: RecordDetails): AuditRecord {
  const record: AuditRecord = {
    ID: details.ID,
    Time: timeText(details.timeMs),
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

/** Many writes share a millisecond, and formatting it takes longer than the rest of a record. */
function timeText(ms: number): string {
  if (lastTime.ms !== ms) lastTime = { ms, text: new Date(ms).toISOString() }
  return lastTime.text
}

function uniqueIds(named: readonly string[], changed: readonly string[]): readonly string[] {
  const ids: string[] = []
  for (const list of [named, changed])
    for (const id of list) {
      if (ids.length === RESOURCES_MAX) return ids
      const text = id.slice(0, RESOURCE_CHARS_MAX)
      if (!ids.includes(text)) ids.push(text)
    }
  return ids
}

function shortened(command: readonly string[]): readonly string[] {
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
 * Ids of what a commit of `/v1` writes; the path names what it deletes. A job that is registered
 * again unchanged is only evaluated: then its evaluation names it.
 */
function changedResourceIds(changes: readonly Change[]): readonly string[] {
  const ids = changes.flatMap((change) => textIn(change, RESOURCE_ID_FIELD[change.table]) ?? [])
  if (ids.length > 0) return ids
  return changes.flatMap((one) => (one.table === 'evaluations' ? (textIn(one, 'JobID') ?? []) : []))
}

/** The namespace of a job or variable: the body of a request may name it instead of the query. */
function namespaceOfChanges(changes: readonly Change[]): string | undefined {
  for (const change of changes) {
    const found =
      RESOURCE_ID_FIELD[change.table] === undefined ? undefined : textIn(change, 'Namespace')
    if (found !== undefined) return found
  }
  return undefined
}

function textIn({ row }: Change, field: string | undefined): string | undefined {
  if (row === undefined || field === undefined) return undefined
  const value: unknown = Reflect.get(row, field)
  return typeof value === 'string' && value !== '' ? value : undefined
}

/**
 * Keys sort by time, so that a span of it is found without an index; then by commit and place in
 * it.
 */
export function auditKey(timeMs: number, commitIndex: number, place = 0): string {
  const index = String(commitIndex).padStart(INDEX_DIGITS, '0')
  return `${auditTimeKey(timeMs)}-${index}-${String(place).padStart(PLACE_DIGITS, '0')}`
}

/** Sorts before every key of this time and after all of the times before. */
export function auditTimeKey(timeMs: number): string {
  return String(Math.max(0, Math.floor(timeMs))).padStart(TIME_DIGITS, '0')
}
