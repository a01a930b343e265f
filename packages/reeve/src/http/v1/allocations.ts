import { Allocation, type AllocationStopResponse, v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compileFilter, equalityConstraints, fieldTypeFromSchema } from '../../lang/filter/index.ts'
import {
  allocationRecord,
  allocationStub,
  allocationView,
  checkUuid,
  refusal,
  type AllocationRow,
  type Refusal,
} from '../../model/index.ts'
import { jobVersionKey, namespacedKey, type Store } from '../../state/index.ts'
import { stopAllocation, type WorkloadContext } from '../../workload/index.ts'
import { json, jsonText } from '../response.ts'
import {
  read,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  write,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import {
  filterVisible,
  listResponse,
  permittedScope,
  READ_JOB,
  requestScope,
  type RowScan,
  scanByIdPrefix,
  scanIndex,
  watchRow,
  watchTables,
} from './reads.ts'
import { allowAll, inAnyNamespace, inNamespace } from './access.ts'

/** Size of the cache; a record has mostly ten kilobytes. */
const CACHED_RECORDS_MAX = 512

const ALLOCATION_FILTER = { rowType: fieldTypeFromSchema(Allocation) }

export function allocationEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  const records: RecordCache = new DerivedValueCache(CACHED_RECORDS_MAX, cacheRecord)
  return [
    read(v1Routes.listAllocations, inNamespace('read-job'), (request) =>
      listAllocations(store, request),
    ),
    read(v1Routes.readAllocation, allowAll, (request) =>
      readAllocation({ store, records }, request),
    ),
  ]
}

/** Returns the job version that the allocation was placed or updated with. */
function jobOfAllocation(store: Store, row: AllocationRow) {
  return store.tables.job_versions.find(jobKeyOf(row))
}

/**
 * Returns the JSON of an allocation with its job. The job is half of it, and its stored text is
 * inserted as it is.
 */
export function allocationJson(store: Store, row: AllocationRow): string {
  return withJob(recordJson(row), jobJsonOf(store, row))
}

function withJob(record: string, job: string): string {
  return `${record.slice(0, -1)},"Job":${job}}`
}

function jobJsonOf({ tables }: Store, row: AllocationRow): string {
  return tables.job_versions.rowJsonOf(jobKeyOf(row)) ?? 'null'
}

function jobKeyOf({ Namespace, JobID, JobVersion }: AllocationRow): string {
  return jobVersionKey(Namespace, JobID, JobVersion)
}

/** The rendered record of an allocation. Its job changes independently, with the job's status. */
interface CachedRecord {
  readonly recordJson: string
  /** Modify index of the job in the text. */
  jobIndex: number
  json: string
}

type RecordCache = DerivedValueCache<AllocationRow, CachedRecord>

function cacheRecord(row: AllocationRow): CachedRecord {
  return { recordJson: recordJson(row), jobIndex: -1, json: '' }
}

function cachedJson(store: Store, row: AllocationRow, cached: CachedRecord): string {
  const jobIndex = store.tables.job_versions.modifyIndexOf(jobKeyOf(row)) ?? 0
  if (cached.jobIndex !== jobIndex) {
    cached.jobIndex = jobIndex
    cached.json = withJob(cached.recordJson, jobJsonOf(store, row))
  }
  return cached.json
}

function recordJson(row: AllocationRow): string {
  return JSON.stringify(allocationRecord(row))
}

function listAllocations(
  store: Store,
  request: V1Request<typeof v1Routes.listAllocations>,
): Result<WatchedRead, Refusal> {
  const { caller, namespace, query } = request
  const walk = chooseScan(store, namespace, query)
  if (!walk.ok) return walk
  const isVisible = (row: AllocationRow): boolean =>
    namespace === '*'
      ? caller.grants.allows(row.Namespace, 'read-job')
      : row.Namespace === namespace
  const options = { resources: query.resources ?? false, taskStates: query.task_states ?? true }
  return ok({
    ...watchTables(store, ['allocations'], requestScope(request, READ_JOB)),
    respond: (yieldTurn) =>
      listResponse(
        {
          scan: filterVisible(walk.value, isVisible),
          query,
          filter: ALLOCATION_FILTER,
          filterView: (row) => allocationView(row, () => jobOfAllocation(store, row)),
          stub: (row) => allocationStub(row, options),
        },
        yieldTurn,
      ),
  })
}

/** Fields by which allocations are grouped across namespaces, and the index of each. */
const INDEX_OF_FIELD = { NodeID: 'node', EvalID: 'evaluation', DeploymentID: 'deployment' } as const

/** Walks allocations by ID prefix or creation; only those of one group if the filter selects it. */
function chooseScan(
  { tables: { allocations } }: Store,
  namespace: string,
  { prefix, filter }: V1Request<typeof v1Routes.listAllocations>['query'],
): Result<RowScan<AllocationRow>, Refusal> {
  const compiled = compileFilter(filter ?? '', ALLOCATION_FILTER)
  if (!compiled.ok || (prefix ?? '') !== '') return scanByIdPrefix(allocations, 'alloc', prefix)
  const hint = equalityConstraints(compiled.value)
  for (const [field, index] of Object.entries(INDEX_OF_FIELD)) {
    const group = hint.get(field)
    // Allocations without a deployment are in no group.
    if (group !== undefined && group !== '') return ok(scanIndex(allocations, index, group))
  }
  const jobId = hint.get('JobID')
  return jobId === undefined || namespace === '*'
    ? scanByIdPrefix(allocations, 'alloc', prefix)
    : ok(scanIndex(allocations, 'job', namespacedKey(namespace, jobId)))
}

/** Reads one allocation; a hidden one is reported as not found. */
function readAllocation(
  { store, records }: { readonly store: Store; readonly records: RecordCache },
  { caller, params }: V1Request<typeof v1Routes.readAllocation>,
): Result<WatchedRead, Refusal> {
  const id = checkUuid('alloc', params.alloc_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const { allocations } = store.tables
  const isVisible = (row: AllocationRow): boolean => caller.grants.allows(row.Namespace, 'read-job')
  return ok({
    ...watchRow(allocations, {
      key: id.value,
      isVisible,
      missingIndex: () => store.indexIn('allocations', permittedScope(caller, READ_JOB)),
    }),
    respond: () => {
      const row = allocations.find(id.value)
      if (row === undefined || !isVisible(row))
        return err(refusal('alloc-not-found', 'alloc not found'))
      return ok(jsonText(cachedJson(store, row, records.get(row))))
    },
  })
}

export function allocationWriteEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    write(v1Routes.stopAllocation, inAnyNamespace('alloc-lifecycle'), (request) =>
      stopAllocationRoute(context, request),
    ),
  ]
}

async function stopAllocationRoute(
  context: WorkloadContext,
  { caller, params, query }: WriteRequestOf<typeof v1Routes.stopAllocation>,
): Promise<Result<WriteResult, Refusal>> {
  const stopped = await stopAllocation(context, caller, {
    allocId: params.alloc_id,
    noShutdownDelay: query.no_shutdown_delay ?? false,
    reschedule: query.reschedule ?? false,
  })
  if (!stopped.ok) return stopped
  const { evalId, index } = stopped.value
  const responseBody: AllocationStopResponse = { EvalID: evalId, Index: index }
  return ok({ index, response: json(responseBody) })
}

/**
 * Caches values derived from rows, by the row object: readers of an allocation read it repeatedly,
 * and a changed row is a new object. The oldest entry is evicted.
 */
export class DerivedValueCache<Row extends object, Made = string> {
  readonly #max: number
  readonly #make: (row: Row) => Made
  readonly #values = new Map<Row, Made>()

  constructor(max: number, make: (row: Row) => Made) {
    this.#max = max
    this.#make = make
  }

  get(row: Row): Made {
    const cached = this.#values.get(row)
    if (cached !== undefined) return cached
    const text = this.#make(row)
    if (this.#values.size >= this.#max) this.#evictOldest()
    this.#values.set(row, text)
    return text
  }

  /** A map iterates its keys in insertion order. */
  #evictOldest(): void {
    const [oldest] = this.#values.keys()
    if (oldest !== undefined) this.#values.delete(oldest)
  }
}
