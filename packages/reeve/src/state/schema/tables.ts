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
} from '../../model/index.ts'
import {
  type FailingGroup,
  failingGroup,
  isActiveDeployment,
  isBatchType,
  isParent,
  isSystemType,
  isTerminal,
} from '../../model/index.ts'
import { ALLOCATION_SPLIT, JOB_SPLIT } from './row-splits.ts'
import { GOVERNANCE_SPECS, type GovernanceRows } from './governance-tables.ts'
import { Table, type TableSpec } from '../table/table.ts'

/**
 * Row type of each table. A new table needs a line here, a spec below and the steps of
 * docs/contributing/checklists/add-a-table.md.
 */
interface TableRows extends GovernanceRows {
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
/**
 * Tables whose rows belong to namespaces. Audit records only mention a namespace and are read by
 * operators.
 */
export type NamespacedTable =
  | Exclude<NamespacedRows[TableName], 'audit_records'>
  | 'scaling_policies'
type NamespacedRows = {
  [N in TableName]: TableRows[N] extends { readonly Namespace: string } ? N : never
}
/** Names of the secondary indexes of a table: the functions of its spec. */
export type IndexName<N extends TableName> = Extract<keyof (typeof SPECS)[N]['indexes'], string>
export type Tables = { readonly [N in TableName]: Table<TableRows[N], IndexName<N>> }

/** Cache size of large tables, which are decoded on demand; small tables are cached as a whole. */
const LARGE_CACHE_SIZE = 20_000
/** While a cluster fills up, plans are ahead of node reports by more than the number above. */
const ALLOCATION_CACHE_SIZE = 60_000
/** Cache size of tables that are written in bulk and seldom read back. */
const BULK_WRITTEN_CACHE_SIZE = 64
const SMALL_CACHE_SIZE = 1_000_000

/** `!` sorts before every character of a namespace's name, so keys sort by namespace, then id. */
export function namespacedKey(namespace: string, id: string): string {
  if (lastKey.id !== id || lastKey.namespace !== namespace)
    lastKey = { namespace, id, key: `${namespace}!${id}` }
  return lastKey.key
}

/** Versions of a job sort numerically. */
export function jobVersionKey(namespace: string, id: string, version: number): string {
  const job = namespacedKey(namespace, id)
  if (lastVersionKey.job !== job || lastVersionKey.version !== version)
    lastVersionKey = { job, version, key: `${job}!${String(version).padStart(10, '0')}` }
  return lastVersionKey.key
}

/**
 * The last keys, cached: a thousand allocations of one plan need the same keys several times, and a
 * lookup by a new string costs several times as much as by an existing one.
 */
let lastKey = { namespace: '', id: '', key: '!' }
let lastVersionKey = { job: '', version: -1, key: '' }

/** The length marks the end of the group name, which may contain any character but NUL. */
export function scalingEventsKey(namespace: string, jobId: string, group: string): string {
  return `${namespace}!${group.length}!${group}!${jobId}`
}

/** Key of an idempotency token within its parent job. */
export function dispatchKey(namespace: string, parentId: string, token: string): string {
  return `${namespace}!${parentId.length}!${parentId}!${token}`
}

/** Verdicts of a namespace sort by time. */
function verdictKey(namespace: string, index: number, id: string): string {
  return `${namespace}!${String(index).padStart(16, '0')}!${id}`
}

/** Index key of the allocations of a job that may explain why it fails. */
export function failingIndexKey(group: FailingGroup, job: string): string {
  return `${group} ${job}`
}

/** Index key of the verdicts of a namespace with one result. */
export function verdictIndexKey(namespace: string, result: PolicyVerdict['Result']): string {
  return `${namespace} ${result}`
}

/** Key of the blob with the policy input of a job. */
export function policyInputBlobKey(sha256: string): string {
  return `judged-job/${sha256}`
}

function jobKey(row: { readonly Namespace: string; readonly JobID: string }): string {
  return namespacedKey(row.Namespace, row.JobID)
}

function namespaceOf(row: { readonly Namespace: string }): string {
  return row.Namespace
}

/** True for an evaluation that is pending or blocked. */
export function isOpenEvaluation(row: Evaluation): boolean {
  return row.Status === 'pending' || row.Status === 'blocked'
}

function isActiveSystemJob({ Type, Stop }: Job): boolean {
  return isSystemType(Type) && !Stop
}

/**
 * True for dead jobs that were stopped or whose work is complete. A parent of periodic or
 * dispatched jobs is complete only when it was stopped.
 */
function isGcCandidate(job: Job): boolean {
  const isDone = isBatchType(job.Type)
  return job.Status === 'dead' && (job.Stop || (isDone && !isParent(job)))
}

/** Defaults for tables without special needs. */
const SPEC_DEFAULTS = {
  indexes: {},
  keepsCreationOrder: false,
  stamped: true,
  decodedCacheSize: SMALL_CACHE_SIZE,
} as const

type NamespaceSpec<N extends TableName> = N extends NamespacedTable
  ? Required<Pick<TableSpec<TableRows[N]>, 'namespace'>>
  : unknown

type Spec<N extends TableName> = Omit<TableSpec<TableRows[N]>, 'name' | 'namespace'> &
  NamespaceSpec<N>

const SPECS = {
  ...GOVERNANCE_SPECS,
  acl_policies: { ...SPEC_DEFAULTS, key: (row) => row.Name },
  acl_roles: { ...SPEC_DEFAULTS, key: (row) => row.ID, indexes: { name: (row) => row.Name } },
  acl_tokens: {
    ...SPEC_DEFAULTS,
    key: (row) => row.AccessorID,
    indexes: { secret: (row) => row.SecretHash },
    keepsCreationOrder: true,
  },
  allocations: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => row.ID,
    randomKeys: true,
    indexes: {
      job: jobKey,
      // Versions are kept while an allocation references them.
      version: (row) => jobVersionKey(row.Namespace, row.JobID, row.JobVersion),
      node: (row) => row.NodeID,
      evaluation: (row) => row.EvalID,
      // The number of live allocations determines the job status without a scan.
      live: (row) => (isTerminal(row) ? undefined : jobKey(row)),
      deployment: (row) => row.DeploymentID || undefined,
      // The health of a job is computed without a scan of its allocations.
      failing: (row) => {
        const group = failingGroup(row)
        return group === undefined ? undefined : failingIndexKey(group, jobKey(row))
      },
    },
    keepsCreationOrder: true,
    rowSplit: ALLOCATION_SPLIT,
    decodedCacheSize: ALLOCATION_CACHE_SIZE,
  },
  audit_records: {
    ...SPEC_DEFAULTS,
    key: (row) => row.ID,
    // Filters skip records without decoding them.
    indexes: {
      actor: (row) => row.Actor.ID,
      action: (row) => row.Action,
      organization: (row) => row.OrganizationID || undefined,
    },
    stamped: false,
    // Written often and read seldom.
    decodedCacheSize: 256,
    writtenCacheSize: 1,
  },
  deployments: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => row.ID,
    randomKeys: true,
    indexes: { job: jobKey, active: (row) => (isActiveDeployment(row) ? jobKey(row) : undefined) },
    keepsCreationOrder: true,
  },
  evaluations: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => row.ID,
    randomKeys: true,
    indexes: {
      job: jobKey,
      // The broker rebuilds itself from these after a restart.
      status: (row) => (isOpenEvaluation(row) ? row.Status : undefined),
      open: (row) => (isOpenEvaluation(row) ? jobKey(row) : undefined),
    },
    keepsCreationOrder: true,
    decodedCacheSize: LARGE_CACHE_SIZE,
    writtenCacheSize: BULK_WRITTEN_CACHE_SIZE,
  },
  host_volumes: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.ID),
    indexes: {
      namespace: (row) => row.Namespace,
      // The state of a volume follows the state of its node.
      node: (row) => row.NodeID,
      // Contains all volumes of removed nodes, for garbage collection.
      unavailable: (row) => (row.State === 'unavailable' ? 'yes' : undefined),
    },
  },
  job_submissions: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => jobVersionKey(row.Namespace, row.JobID, row.Version),
    indexes: { job: jobKey, blob: (row) => row.BlobKey },
    stamped: false,
    decodedCacheSize: LARGE_CACHE_SIZE,
    writtenCacheSize: BULK_WRITTEN_CACHE_SIZE,
    blobIndex: 'blob',
  },
  job_summaries: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: jobKey,
    decodedCacheSize: LARGE_CACHE_SIZE,
    writtenCacheSize: BULK_WRITTEN_CACHE_SIZE,
  },
  job_versions: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => jobVersionKey(row.Namespace, row.ID, row.Version),
    indexes: { job: (row) => namespacedKey(row.Namespace, row.ID) },
    stamped: false,
    rowSplit: JOB_SPLIT,
    decodedCacheSize: LARGE_CACHE_SIZE,
    writtenCacheSize: BULK_WRITTEN_CACHE_SIZE,
  },
  jobs: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.ID),
    indexes: {
      parent: (row) =>
        row.ParentID === '' ? undefined : namespacedKey(row.Namespace, row.ParentID),
      // Used by the overlap check of periodic launches.
      liveChild: (row) =>
        row.ParentID === '' || row.Status === 'dead'
          ? undefined
          : namespacedKey(row.Namespace, row.ParentID),
      // A repeated dispatch finds the child of the first one.
      dispatch: (row) =>
        row.DispatchIdempotencyToken === ''
          ? undefined
          : dispatchKey(row.Namespace, row.ParentID, row.DispatchIdempotencyToken),
      namespace: (row) => row.Namespace,
      // A namespace with live jobs cannot be deleted.
      live: (row) => (row.Status === 'dead' ? undefined : row.Namespace),
      pool: (row) => row.NodePool,
      // Used by list filters.
      type: (row) => row.Type,
      status: (row) => row.Status,
      renamed: (row) => (row.Name === row.ID ? undefined : row.Name),
      // A node pool with live jobs cannot be deleted.
      livePool: (row) => (row.Status === 'dead' ? undefined : row.NodePool),
      // Garbage collection reads only these, however many jobs there are.
      garbage: (row) => (isGcCandidate(row) ? 'yes' : undefined),
      // System jobs, which are evaluated for every new node.
      everywhere: (row) => (isActiveSystemJob(row) ? 'yes' : undefined),
      // Counted by a metric.
      quarantined: (row) => (row.Quarantine === undefined ? undefined : 'yes'),
      // Their timestamps are adjusted when the clock of the server is set.
      lostNodes: (row) => ((row.NodeLosses ?? []).length === 0 ? undefined : 'yes'),
    },
    rowSplit: JOB_SPLIT,
    decodedCacheSize: LARGE_CACHE_SIZE,
    writtenCacheSize: BULK_WRITTEN_CACHE_SIZE,
  },
  namespaces: { ...SPEC_DEFAULTS, key: (row) => row.Name },
  node_join_tokens: {
    ...SPEC_DEFAULTS,
    key: (row) => row.ID,
    indexes: { secret: (row) => row.SecretHash },
  },
  node_pools: { ...SPEC_DEFAULTS, key: (row) => row.Name },
  node_revocations: {
    ...SPEC_DEFAULTS,
    key: (row) => row.NodeID,
    indexes: { secret: (row) => row.SecretHash },
  },
  nodes: {
    ...SPEC_DEFAULTS,
    key: (row) => row.ID,
    indexes: {
      pool: (row) => row.NodePool,
      // The drain loop reads only these.
      draining: (row) => (row.DrainStrategy === null ? undefined : 'yes'),
      // Garbage collection reads only these.
      down: (row) => (row.Status === 'down' ? 'yes' : undefined),
      // Names need not be unique: a node with the name of another one is reported.
      name: (row) => row.Name,
    },
  },
  one_time_tokens: {
    ...SPEC_DEFAULTS,
    key: (row) => row.AccessorID,
    indexes: { secret: (row) => row.SecretHash },
  },
  periodic_launches: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.ID),
  },
  policy_verdicts: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => verdictKey(row.Namespace, row.CreateIndex, row.ID),
    indexes: {
      job: jobKey,
      namespace: (row) => row.Namespace,
      result: (row) => verdictIndexKey(row.Namespace, row.Result),
      // Several verdicts on one job share a blob.
      blob: (row) => (row.HasSubject ? policyInputBlobKey(row.SubjectHash) : undefined),
    },
    decodedCacheSize: LARGE_CACHE_SIZE,
    blobIndex: 'blob',
  },
  scaling_events: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => scalingEventsKey(row.Namespace, row.JobID, row.Group),
    indexes: { job: jobKey },
    decodedCacheSize: LARGE_CACHE_SIZE,
  },
  scaling_policies: {
    ...SPEC_DEFAULTS,
    namespace: ({ Target }) => Target['Namespace'] ?? '',
    key: (row) => row.ID,
    indexes: {
      job: ({ Target }) => namespacedKey(Target['Namespace'] ?? '', Target['Job'] ?? ''),
      namespace: ({ Target }) => Target['Namespace'],
    },
  },
  service_registrations: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    // The namespace comes first, so that lists scan only one namespace.
    key: (row) => namespacedKey(row.Namespace, row.ID),
    indexes: {
      service: (row) => namespacedKey(row.Namespace, row.ServiceName),
      namespace: (row) => row.Namespace,
      job: jobKey,
      allocation: (row) => row.AllocID,
      node: (row) => row.NodeID,
      // The number of failing checks determines the health of a job.
      failingChecks: (row) => ((row.Checks?.Failing ?? 0) > 0 ? jobKey(row) : undefined),
    },
    decodedCacheSize: LARGE_CACHE_SIZE,
  },
  settings: { ...SPEC_DEFAULTS, key: (row) => row.Name },
  variable_locks: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.Path),
  },
  variables: {
    ...SPEC_DEFAULTS,
    namespace: namespaceOf,
    key: (row) => namespacedKey(row.Namespace, row.Path),
    indexes: { namespace: (row) => row.Namespace },
    decodedCacheSize: LARGE_CACHE_SIZE,
  },
} as const satisfies { readonly [N in TableName]: Spec<N> }

export function createTables(): Tables {
  const entries = Object.entries(SPECS).map(([name, spec]) => [
    name,
    // Each spec has the row type of its table name, as the type of SPECS ensures.
    new Table<object>({ name, ...spec } as TableSpec<object>),
  ])
  // One table per name, created from the spec of that name.
  return Object.fromEntries(entries) as Tables
}

/**
 * Maintains data derived from a table. Called in the tick in which a row changes, so that later
 * decisions see both consistently.
 */
export interface TableObserver<N extends TableName> {
  changed(before: Row<N> | undefined, after: Row<N> | undefined): void
  /** Changes were rolled back: all derived data must be recomputed. */
  reset(): void
}
