import type {
  AclPolicyRecord,
  AclRole,
  AuditRecord,
  Deployment,
  Evaluation,
  HostVolumeRecord,
  Job,
  JobSummary,
  Namespace,
  NodePool,
  PolicyVerdict,
  ScalingPolicy,
  ServiceRegistration,
} from '@reeve/contract'
import type {
  AclTokenRow,
  AllocationRow,
  JobSubmissionRow,
  NodeJoinTokenRow,
  NodeRevocationRow,
  NodeRow,
  OneTimeTokenRow,
  PeriodicLaunchRow,
  ScalingEventsRow,
  SettingRow,
  VariableLockRow,
  VariableRow,
} from '../model/index.ts'
import {
  isActiveDeployment,
  isBatchType,
  isParent,
  isSystemType,
  isTerminal,
} from '../model/index.ts'
import { ALLOCATION_PIECES } from './allocation-pieces.ts'
import { GOVERNANCE_SPECS, type GovernanceRows } from './governance-tables.ts'
import { JOB_PIECES } from './job-pieces.ts'
import { Table, type TableSpec } from './table.ts'

/**
 * What each table holds. A new table is a line here, a spec below and a step in
 * docs/contributing/checklists/add-a-table.md.
 */
export interface TableRows extends GovernanceRows {
  readonly acl_policies: AclPolicyRecord
  readonly acl_roles: AclRole
  readonly acl_tokens: AclTokenRow
  readonly allocations: AllocationRow
  readonly audit_records: AuditRecord
  readonly deployments: Deployment
  readonly evaluations: Evaluation
  readonly host_volumes: HostVolumeRecord
  readonly job_submissions: JobSubmissionRow
  readonly job_summaries: JobSummary
  readonly job_versions: Job
  readonly jobs: Job
  readonly namespaces: Namespace
  readonly node_join_tokens: NodeJoinTokenRow
  readonly node_pools: NodePool
  readonly node_revocations: NodeRevocationRow
  readonly nodes: NodeRow
  readonly one_time_tokens: OneTimeTokenRow
  readonly periodic_launches: PeriodicLaunchRow
  readonly policy_verdicts: PolicyVerdict
  readonly scaling_events: ScalingEventsRow
  readonly scaling_policies: ScalingPolicy
  readonly service_registrations: ServiceRegistration
  readonly settings: SettingRow
  readonly variable_locks: VariableLockRow
  readonly variables: VariableRow
}
export type TableName = keyof TableRows
export type Row<N extends TableName> = TableRows[N]
/** Tables whose rows are in namespaces. An audit record only tells of one: operators read them. */
export type NamespacedTable =
  | Exclude<NamespacedRows[TableName], 'audit_records'>
  | 'scaling_policies'
type NamespacedRows = {
  [N in TableName]: TableRows[N] extends { readonly Namespace: string } ? N : never
}
export type Tables = { readonly [N in TableName]: Table<TableRows[N]> }

/** Tables this large are decoded as they are read; small ones stay decoded as a whole. */
const LARGE_DECODED_ROWS = 20_000
/** While a cluster fills, plans run ahead of what nodes report by more than the number above. */
const ALLOCATION_DECODED_ROWS = 60_000
/** Of tables that are written in masses, and read again only just after that or much later. */
const WRITTEN_ROWS = 64
const SMALL_DECODED_ROWS = 1_000_000

/** `!` sorts before every character of a namespace's name, so keys sort by namespace, then id. */
export function namespacedKey(namespace: string, id: string): string {
  if (lastKey.id !== id || lastKey.namespace !== namespace)
    lastKey = { namespace, id, key: `${namespace}!${id}` }
  return lastKey.key
}

/** Versions sort as numbers within their job. */
export function jobVersionKey(namespace: string, id: string, version: number): string {
  const job = namespacedKey(namespace, id)
  if (lastVersionKey.job !== job || lastVersionKey.version !== version)
    lastVersionKey = { job, version, key: `${job}!${String(version).padStart(10, '0')}` }
  return lastVersionKey.key
}

/**
 * The keys that were made last. A thousand allocations of one plan ask for the same ones several
 * times each, and to look up a text that is new costs several times as much as one that is not.
 */
let lastKey = { namespace: '', id: '', key: '!' }
let lastVersionKey = { job: '', version: -1, key: '' }

/** The length tells where the group ends: names may hold any character but NUL. */
export function scalingEventsKey(namespace: string, jobId: string, group: string): string {
  return `${namespace}!${group.length}!${group}!${jobId}`
}

/** One for each parent. */
export function dispatchKey(namespace: string, parentId: string, token: string): string {
  return `${namespace}!${parentId.length}!${parentId}!${token}`
}

/** The verdicts of a namespace sort by time. */
function verdictKey(namespace: string, index: number, id: string): string {
  return `${namespace}!${String(index).padStart(16, '0')}!${id}`
}

/** The verdicts of a namespace that ended alike. */
export function verdictGroup(namespace: string, result: PolicyVerdict['Result']): string {
  return `${namespace} ${result}`
}

/** The blob that holds a job as policies saw it. */
export function judgedJobKey(sha256: string): string {
  return `judged-job/${sha256}`
}

function jobKey(row: { readonly Namespace: string; readonly JobID: string }): string {
  return namespacedKey(row.Namespace, row.JobID)
}

function namespaceOf(row: { readonly Namespace: string }): string {
  return row.Namespace
}

/** An evaluation that is still to be carried out, now or when something frees up. */
export function isOpenEvaluation(row: Evaluation): boolean {
  return row.Status === 'pending' || row.Status === 'blocked'
}

function runsEverywhere({ Type, Stop }: Job): boolean {
  return isSystemType(Type) && !Stop
}

/**
 * Dead jobs that were stopped, or whose work is done. A parent of periodic or dispatched jobs is
 * done only when it was stopped.
 */
function mayBeCollected(job: Job): boolean {
  const isDone = isBatchType(job.Type)
  return job.Status === 'dead' && (job.Stop || (isDone && !isParent(job)))
}

/** The rest of a spec, for tables that need nothing special. */
const plain = {
  groups: {},
  byCreation: false,
  stamped: true,
  decodedRowsMax: SMALL_DECODED_ROWS,
} as const

type NamespaceSpec<N extends TableName> = N extends NamespacedTable
  ? Required<Pick<TableSpec<TableRows[N]>, 'namespace'>>
  : unknown

type Spec<N extends TableName> = Omit<TableSpec<TableRows[N]>, 'name' | 'namespace'> &
  NamespaceSpec<N>

const SPECS: { readonly [N in TableName]: Spec<N> } = {
  ...GOVERNANCE_SPECS,
  acl_policies: { ...plain, key: (row) => row.Name },
  acl_roles: { ...plain, key: (row) => row.ID, groups: { name: (row) => row.Name } },
  acl_tokens: {
    ...plain,
    key: (row) => row.AccessorID,
    groups: { secret: (row) => row.SecretHash },
    byCreation: true,
  },
  allocations: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => row.ID,
    randomKeys: true,
    groups: {
      job: jobKey,
      // A version is kept while an allocation of it is.
      version: (row) => jobVersionKey(row.Namespace, row.JobID, row.JobVersion),
      node: (row) => row.NodeID,
      evaluation: (row) => row.EvalID,
      // How many still run or will run decides a job's status, without walking the others.
      live: (row) => (isTerminal(row) ? undefined : jobKey(row)),
      deployment: (row) => row.DeploymentID || undefined,
    },
    byCreation: true,
    pieces: ALLOCATION_PIECES,
    decodedRowsMax: ALLOCATION_DECODED_ROWS,
  },
  audit_records: {
    ...plain,
    key: (row) => row.ID,
    // Filters pass over the others without decoding them.
    groups: {
      actor: (row) => row.Actor.ID,
      action: (row) => row.Action,
      organization: (row) => row.OrganizationID || undefined,
    },
    stamped: false,
    // Written often and read seldom.
    decodedRowsMax: 256,
    writtenRowsMax: 1,
  },
  deployments: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => row.ID,
    randomKeys: true,
    groups: { job: jobKey, active: (row) => (isActiveDeployment(row) ? jobKey(row) : undefined) },
    byCreation: true,
  },
  evaluations: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => row.ID,
    randomKeys: true,
    groups: {
      job: jobKey,
      // The broker rebuilds itself from these after a restart.
      status: (row) => (isOpenEvaluation(row) ? row.Status : undefined),
      open: (row) => (isOpenEvaluation(row) ? jobKey(row) : undefined),
    },
    byCreation: true,
    decodedRowsMax: LARGE_DECODED_ROWS,
    writtenRowsMax: WRITTEN_ROWS,
  },
  host_volumes: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.ID),
    groups: {
      namespace: (row) => row.Namespace,
      // Their state follows from that of their node.
      node: (row) => row.NodeID,
      // Contains all volumes of removed nodes, for garbage collection.
      unavailable: (row) => (row.State === 'unavailable' ? 'yes' : undefined),
    },
  },
  job_submissions: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => jobVersionKey(row.Namespace, row.JobID, row.Version),
    groups: { job: jobKey, blob: (row) => row.BlobKey },
    stamped: false,
    decodedRowsMax: LARGE_DECODED_ROWS,
    writtenRowsMax: WRITTEN_ROWS,
    blobGroup: 'blob',
  },
  job_summaries: {
    ...plain,
    namespace: namespaceOf,
    key: jobKey,
    decodedRowsMax: LARGE_DECODED_ROWS,
    writtenRowsMax: WRITTEN_ROWS,
  },
  job_versions: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => jobVersionKey(row.Namespace, row.ID, row.Version),
    groups: { job: (row) => namespacedKey(row.Namespace, row.ID) },
    stamped: false,
    pieces: JOB_PIECES,
    decodedRowsMax: LARGE_DECODED_ROWS,
    writtenRowsMax: WRITTEN_ROWS,
  },
  jobs: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.ID),
    groups: {
      parent: (row) =>
        row.ParentID === '' ? undefined : namespacedKey(row.Namespace, row.ParentID),
      // Overlap of periodic launches is asked of each one.
      liveChild: (row) =>
        row.ParentID === '' || row.Status === 'dead'
          ? undefined
          : namespacedKey(row.Namespace, row.ParentID),
      // A dispatch that is repeated finds the child of the first.
      dispatch: (row) =>
        row.DispatchIdempotencyToken === ''
          ? undefined
          : dispatchKey(row.Namespace, row.ParentID, row.DispatchIdempotencyToken),
      namespace: (row) => row.Namespace,
      // A namespace with one of these cannot be deleted.
      live: (row) => (row.Status === 'dead' ? undefined : row.Namespace),
      pool: (row) => row.NodePool,
      // Filters of lists ask for these.
      type: (row) => row.Type,
      status: (row) => row.Status,
      renamed: (row) => (row.Name === row.ID ? undefined : row.Name),
      // A pool with one of these cannot be deleted.
      livePool: (row) => (row.Status === 'dead' ? undefined : row.NodePool),
      // The collector looks at these alone, however many jobs there are.
      garbage: (row) => (mayBeCollected(row) ? 'yes' : undefined),
      // Every node that comes is a place for these.
      everywhere: (row) => (runsEverywhere(row) ? 'yes' : undefined),
      // How many there are is a metric.
      quarantined: (row) => (row.Quarantine === undefined ? undefined : 'yes'),
      // Their times follow the clock of the server when it is set.
      lostNodes: (row) => ((row.NodeLosses ?? []).length === 0 ? undefined : 'yes'),
    },
    pieces: JOB_PIECES,
    decodedRowsMax: LARGE_DECODED_ROWS,
    writtenRowsMax: WRITTEN_ROWS,
  },
  namespaces: { ...plain, key: (row) => row.Name },
  node_join_tokens: {
    ...plain,
    key: (row) => row.ID,
    groups: { secret: (row) => row.SecretHash },
  },
  node_pools: { ...plain, key: (row) => row.Name },
  node_revocations: {
    ...plain,
    key: (row) => row.NodeID,
    groups: { secret: (row) => row.SecretHash },
  },
  nodes: {
    ...plain,
    key: (row) => row.ID,
    groups: {
      pool: (row) => row.NodePool,
      // The drainer costs nothing while there are none of these.
      draining: (row) => (row.DrainStrategy === null ? undefined : 'yes'),
      // Of these the collector takes the ones that do not come back.
      down: (row) => (row.Status === 'down' ? 'yes' : undefined),
      // Names need not be unique: a node that takes the name of another one is pointed out.
      name: (row) => row.Name,
    },
  },
  one_time_tokens: {
    ...plain,
    key: (row) => row.AccessorID,
    groups: { secret: (row) => row.SecretHash },
  },
  periodic_launches: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.ID),
  },
  policy_verdicts: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => verdictKey(row.Namespace, row.CreateIndex, row.ID),
    groups: {
      job: jobKey,
      namespace: (row) => row.Namespace,
      result: (row) => verdictGroup(row.Namespace, row.Result),
      // Several verdicts on one job share it.
      blob: (row) => (row.HasSubject ? judgedJobKey(row.SubjectHash) : undefined),
    },
    decodedRowsMax: LARGE_DECODED_ROWS,
    blobGroup: 'blob',
  },
  scaling_events: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => scalingEventsKey(row.Namespace, row.JobID, row.Group),
    groups: { job: jobKey },
    decodedRowsMax: LARGE_DECODED_ROWS,
  },
  scaling_policies: {
    ...plain,
    namespace: ({ Target }) => Target['Namespace'] ?? '',
    key: (row) => row.ID,
    groups: {
      job: ({ Target }) => namespacedKey(Target['Namespace'] ?? '', Target['Job'] ?? ''),
      namespace: ({ Target }) => Target['Namespace'],
    },
  },
  service_registrations: {
    ...plain,
    namespace: namespaceOf,
    // The id alone would do: with the namespace first, lists walk one namespace only.
    key: (row) => namespacedKey(row.Namespace, row.ID),
    groups: {
      service: (row) => namespacedKey(row.Namespace, row.ServiceName),
      namespace: (row) => row.Namespace,
      job: jobKey,
      allocation: (row) => row.AllocID,
      node: (row) => row.NodeID,
      // The health of a job follows from their number.
      failingChecks: (row) => ((row.Checks?.Failing ?? 0) > 0 ? jobKey(row) : undefined),
    },
    decodedRowsMax: LARGE_DECODED_ROWS,
  },
  settings: { ...plain, key: (row) => row.Name },
  variable_locks: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.Path),
  },
  variables: {
    ...plain,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.Path),
    groups: { namespace: (row) => row.Namespace },
    decodedRowsMax: LARGE_DECODED_ROWS,
  },
}

export function createTables(): Tables {
  const entries = Object.entries(SPECS).map(([name, spec]) => [
    name,
    // Each spec belongs to the row type of its own name, as SPECS's type says.
    new Table<object>({ name, ...spec } as TableSpec<object>),
  ])
  // One table per name, made from that name's spec.
  return Object.fromEntries(entries) as Tables
}

/**
 * Maintains data derived from a table. Called in the turn in which a row changes, so that later
 * decisions see both consistently.
 */
export interface TableObserver<N extends TableName> {
  changed(before: Row<N> | undefined, after: Row<N> | undefined): void
  /** Changes were taken back: forget everything derived. */
  reset(): void
}
