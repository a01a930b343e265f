import { Allocation, v1Routes } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compileFilter, equalityHint, fieldKindsFromSchema } from '../../lang/filter/index.ts'
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
import type { WorkloadContext } from '../../workload/index.ts'
import { jsonText } from '../answer.ts'
import { read, type Endpoint, type ReadPlan, type RequestOf } from './endpoint.ts'
import { listAnswer } from './list-answer.ts'
import { READ_JOB, scopeOf, scopeOfRight, watchTables } from './namespace-scope.ts'
import { RecentTexts } from './recent-texts.ts'
import { anyone, inNamespace } from './requirements.ts'
import { watchRow } from './row-reads.ts'
import { visible, walkGroup, walkIds, type Walk } from './walks.ts'

/** Size of the cache; a record has mostly ten kilobytes. */
const RECENT_RECORDS_MAX = 512

const ALLOCATION_FILTER = { kinds: fieldKindsFromSchema(Allocation) }

export function allocationEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  const records: RecentRecords = new RecentTexts(RECENT_RECORDS_MAX, toldRecord)
  return [
    read(v1Routes.listAllocations, inNamespace('read-job'), (request) =>
      listAllocations(store, request),
    ),
    read(v1Routes.readAllocation, anyone, (request) => readAllocation({ store, records }, request)),
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
export function allocationText(store: Store, row: AllocationRow): string {
  return joined(recordText(row), jobTextOf(store, row))
}

function joined(record: string, job: string): string {
  return `${record.slice(0, -1)},"Job":${job}}`
}

function jobTextOf({ tables }: Store, row: AllocationRow): string {
  return tables.job_versions.bodyOf(jobKeyOf(row)) ?? 'null'
}

function jobKeyOf({ Namespace, JobID, JobVersion }: AllocationRow): string {
  return jobVersionKey(Namespace, JobID, JobVersion)
}

/** The rendered record of an allocation. Its job changes independently, with the job's status. */
interface ToldRecord {
  readonly record: string
  /** Modify index of the job in the text. */
  jobIndex: number
  text: string
}

type RecentRecords = RecentTexts<AllocationRow, ToldRecord>

function toldRecord(row: AllocationRow): ToldRecord {
  return { record: recordText(row), jobIndex: -1, text: '' }
}

function toldText(store: Store, row: AllocationRow, told: ToldRecord): string {
  const jobIndex = store.tables.job_versions.modifyIndexOf(jobKeyOf(row)) ?? 0
  if (told.jobIndex !== jobIndex) {
    told.jobIndex = jobIndex
    told.text = joined(told.record, jobTextOf(store, row))
  }
  return told.text
}

function recordText(row: AllocationRow): string {
  return JSON.stringify(allocationRecord(row))
}

function listAllocations(
  store: Store,
  request: RequestOf<typeof v1Routes.listAllocations>,
): Result<ReadPlan, Refusal> {
  const { caller, namespace, query } = request
  const walk = walkOf(store, namespace, query)
  if (!walk.ok) return walk
  const isVisible = (row: AllocationRow): boolean =>
    namespace === '*'
      ? caller.grants.allows(row.Namespace, 'read-job')
      : row.Namespace === namespace
  const options = { resources: query.resources ?? false, taskStates: query.task_states ?? true }
  return ok({
    ...watchTables(store, ['allocations'], scopeOf(request, READ_JOB)),
    answer: (yieldTurn) =>
      listAnswer(
        {
          walk: visible(walk.value, isVisible),
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
const INDEX_OF = { NodeID: 'node', EvalID: 'evaluation', DeploymentID: 'deployment' } as const

/** Walks allocations by ID prefix or creation; only those of one group if the filter selects it. */
function walkOf(
  { tables: { allocations } }: Store,
  namespace: string,
  { prefix, filter }: RequestOf<typeof v1Routes.listAllocations>['query'],
): Result<Walk<AllocationRow>, Refusal> {
  const compiled = compileFilter(filter ?? '', ALLOCATION_FILTER)
  if (!compiled.ok || (prefix ?? '') !== '') return walkIds(allocations, 'alloc', prefix)
  const hint = equalityHint(compiled.value)
  for (const [field, index] of Object.entries(INDEX_OF)) {
    const group = hint.get(field)
    // Allocations without a deployment are in no group.
    if (group !== undefined && group !== '') return ok(walkGroup(allocations, index, group))
  }
  const jobId = hint.get('JobID')
  return jobId === undefined || namespace === '*'
    ? walkIds(allocations, 'alloc', prefix)
    : ok(walkGroup(allocations, 'job', namespacedKey(namespace, jobId)))
}

/** Reads one allocation; a hidden one is reported as not found. */
function readAllocation(
  { store, records }: { readonly store: Store; readonly records: RecentRecords },
  { caller, params }: RequestOf<typeof v1Routes.readAllocation>,
): Result<ReadPlan, Refusal> {
  const id = checkUuid('alloc', params.alloc_id)
  if (!id.ok) return err(refusal('invalid-input', id.error))
  const { allocations } = store.tables
  const isVisible = (row: AllocationRow): boolean => caller.grants.allows(row.Namespace, 'read-job')
  return ok({
    ...watchRow(allocations, {
      key: id.value,
      isVisible,
      missingIndex: () => store.indexIn('allocations', scopeOfRight(caller, READ_JOB)),
    }),
    answer: () => {
      const row = allocations.find(id.value)
      if (row === undefined || !isVisible(row))
        return err(refusal('alloc-not-found', 'alloc not found'))
      return ok(jsonText(toldText(store, row, records.of(row))))
    },
  })
}
