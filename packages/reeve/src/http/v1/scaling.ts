import {
  v1Routes,
  type JobScaleResponse,
  type ScalingPolicy,
  type ScalingPolicyStub,
} from '@reeve/contract'
import type { Grants } from '../../acl/index.ts'
import { formatWarnings } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, scaleStatus, type Refusal } from '../../model/index.ts'
import { namespacedKey, scalingEventsKey, type Store } from '../../state/index.ts'
import { scaleJob, type WorkloadContext } from '../../workload/index.ts'
import { json } from '../response.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type AccessRule,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import {
  requestScope,
  keyScope,
  permittedScope,
  watchTables,
  type NamespacePermission,
  filterVisible,
  listWatched,
  readRow,
  scanByKey,
  scanIndexByKey,
} from './reads.ts'
import { requireBody } from './errors.ts'
import { allowAll, inNamespace } from './access.ts'
import { responseMeta } from './responses.ts'

const JOB_NOT_FOUND: Refusal = refusal('job-not-found', 'job not found')
const POLICY_NOT_FOUND: Refusal = refusal('scaling-policy-not-found', 'policy not found')

export function scalingEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    write(v1Routes.scaleJob, inNamespace('scale-job', 'submit-job'), (request) =>
      scaleRoute(context, request),
    ),
    read(v1Routes.readJobScale, inNamespace('read-job-scaling', 'read-job'), (request) =>
      ok(readScale(store, request)),
    ),
    read(v1Routes.listScalingPolicies, mayListPolicies, (request) =>
      ok(listPolicies(store, request)),
    ),
    read(v1Routes.readScalingPolicy, allowAll, ({ caller, params }) =>
      ok(
        readRow(store.tables.scaling_policies, {
          key: params.policy_id,
          notFound: POLICY_NOT_FOUND,
          isVisible: (row) =>
            canSeePolicies(caller.grants, namespaceOf(row), 'read-scaling-policy'),
          missingIndex: () =>
            store.indexIn('scaling_policies', permittedScope(caller, READ_POLICIES)),
        }),
      ),
    ),
  ]
}

async function scaleRoute(
  context: WorkloadContext,
  { caller, namespace, params, body: rawBody }: WriteRequestOf<typeof v1Routes.scaleJob>,
): Promise<Result<WriteResult, Refusal>> {
  const body = requireBody(rawBody)
  if (!body.ok) return body
  const request = { namespace, jobId: params.job_id, body: body.value }
  const scaled = await scaleJob(context, caller, request)
  if (!scaled.ok) return scaled
  const { evalId, jobModifyIndex, index, warnings } = scaled.value
  const responseBody: JobScaleResponse = {
    // Present only when an evaluation was created.
    ...(evalId === undefined ? {} : { EvalID: evalId, EvalCreateIndex: index }),
    JobModifyIndex: jobModifyIndex,
    Warnings: formatWarnings(warnings),
    ...responseMeta(index),
  }
  return ok({ index, response: json(responseBody) })
}

function readScale(
  store: Store,
  { namespace, params }: V1Request<typeof v1Routes.readJobScale>,
): WatchedRead {
  const { jobs, allocations } = store.tables
  const key = namespacedKey(namespace, params.job_id)
  return {
    index: () => scaleIndex(store, key),
    watch: [{ table: 'jobs', key }, ...watchTables(store, SCALE_TABLES, keyScope(key)).watch],
    respond: () => {
      const job = jobs.find(key)
      if (job === undefined) return err(JOB_NOT_FOUND)
      const eventsOf = (group: string) =>
        store.tables.scaling_events.find(scalingEventsKey(namespace, job.ID, group))?.Events ?? []
      return ok(json(scaleStatus(job, allocations.rowsByIndex('live', key), eventsOf)))
    },
  }
}

const SCALE_TABLES = ['allocations', 'scaling_events'] as const

/**
 * The index of an unknown job is the last write to its namespace. Allocations that have ended count
 * too: otherwise the index could fall when one ends, and a blocking query would miss it.
 */
function scaleIndex(store: Store, key: string): number {
  const { tables } = store
  const jobIndex = tables.jobs.modifyIndexOf(key)
  if (jobIndex === undefined)
    return watchTables(store, ['jobs', ...SCALE_TABLES], keyScope(key)).index()
  let highest = jobIndex
  for (const table of [tables.scaling_events, tables.allocations])
    for (const row of table.keysByIndex('job', key))
      highest = Math.max(highest, table.modifyIndexOf(row) ?? 0)
  return highest
}

/** Requires the capability, or the two that show jobs together with their policies. */
const mayListPolicies: AccessRule = (caller, request) =>
  inNamespace('list-scaling-policies')(caller, request) ||
  (inNamespace('list-jobs')(caller, request) && inNamespace('read-job')(caller, request))

function namespaceOf({ Target }: ScalingPolicy): string {
  return Target['Namespace'] ?? ''
}

const LIST_POLICIES: NamespacePermission = {
  name: 'list scaling policies',
  isGranted: (grants, namespace) => canSeePolicies(grants, namespace, 'list-scaling-policies'),
}

const READ_POLICIES: NamespacePermission = {
  name: 'read scaling policies',
  isGranted: (grants, namespace) => canSeePolicies(grants, namespace, 'read-scaling-policy'),
}

function canSeePolicies(
  grants: Grants,
  namespace: string,
  capability: 'list-scaling-policies' | 'read-scaling-policy',
): boolean {
  const readsJobs = grants.allows(namespace, 'list-jobs') && grants.allows(namespace, 'read-job')
  return readsJobs || grants.allows(namespace, capability)
}

function listPolicies(
  store: Store,
  request: V1Request<typeof v1Routes.listScalingPolicies>,
): WatchedRead {
  const { caller, namespace, query } = request
  const { job = '', type = '' } = query
  const isSelected = (row: ScalingPolicy): boolean =>
    canSeePolicies(caller.grants, namespaceOf(row), 'list-scaling-policies') &&
    (job === '' || row.Target['Job'] === job) &&
    (type === '' || row.Type === type)
  const watched = watchTables(store, ['scaling_policies'], requestScope(request, LIST_POLICIES))
  return listWatched(watched, () => ({
    scan: filterVisible(policyScan(store, namespace, job), isSelected),
    query: {},
    filter: {},
    stub: policyStub,
  }))
}

function policyScan({ tables }: Store, namespace: string, job: string) {
  if (namespace === '*') return scanByKey(tables.scaling_policies, '')
  const group = job === '' ? namespace : namespacedKey(namespace, job)
  const index = job === '' ? 'namespace' : 'job'
  return scanIndexByKey(tables.scaling_policies, { index, group })
}

function policyStub(policy: ScalingPolicy): ScalingPolicyStub {
  const { ID, Enabled, Type, Target, CreateIndex, ModifyIndex } = policy
  return { ID, Enabled, Type, Target, CreateIndex, ModifyIndex }
}
