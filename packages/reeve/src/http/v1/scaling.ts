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
import { json } from '../answer.ts'
import {
  read,
  write,
  type Endpoint,
  type ReadPlan,
  type RequestOf,
  type Requirement,
  type Written,
  type WriteRequestOf,
} from './endpoint.ts'
import {
  scopeOf,
  scopeOfKey,
  scopeOfRight,
  watchTables,
  type NamespaceRight,
} from './namespace-scope.ts'
import { requiredBody } from './required-body.ts'
import { anyone, inNamespace } from './requirements.ts'
import { responseMeta } from './response-meta.ts'
import { listWatched, readRow } from './row-reads.ts'
import { visible, walkGroupKeys, walkKeys } from './walks.ts'

const JOB_NOT_FOUND: Refusal = refusal('job-not-found', 'job not found')
const POLICY_NOT_FOUND: Refusal = refusal('scaling-policy-not-found', 'policy not found')

export function scalingEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    write(v1Routes.scaleJob, inNamespace('scale-job', 'submit-job'), (request) =>
      scale(context, request),
    ),
    read(v1Routes.readJobScale, inNamespace('read-job-scaling', 'read-job'), (request) =>
      ok(readScale(store, request)),
    ),
    read(v1Routes.listScalingPolicies, mayListPolicies, (request) =>
      ok(listPolicies(store, request)),
    ),
    read(v1Routes.readScalingPolicy, anyone, ({ caller, params }) =>
      ok(
        readRow(store.tables.scaling_policies, {
          key: params.policy_id,
          missing: POLICY_NOT_FOUND,
          isVisible: (row) => maySee(caller.grants, namespaceOf(row), 'read-scaling-policy'),
          missingIndex: () =>
            store.indexIn('scaling_policies', scopeOfRight(caller, READ_POLICIES)),
        }),
      ),
    ),
  ]
}

async function scale(
  context: WorkloadContext,
  { caller, namespace, params, body: given }: WriteRequestOf<typeof v1Routes.scaleJob>,
): Promise<Result<Written, Refusal>> {
  const body = requiredBody(given)
  if (!body.ok) return body
  const request = { namespace, jobId: params.job_id, body: body.value }
  const scaled = await scaleJob(context, caller, request)
  if (!scaled.ok) return scaled
  const { evalId, jobModifyIndex, index, warnings } = scaled.value
  const answer: JobScaleResponse = {
    // Present only when an evaluation was created.
    ...(evalId === undefined ? {} : { EvalID: evalId, EvalCreateIndex: index }),
    JobModifyIndex: jobModifyIndex,
    Warnings: formatWarnings(warnings),
    ...responseMeta(index),
  }
  return ok({ index, answer: json(answer) })
}

function readScale(
  store: Store,
  { namespace, params }: RequestOf<typeof v1Routes.readJobScale>,
): ReadPlan {
  const { jobs, allocations } = store.tables
  const key = namespacedKey(namespace, params.job_id)
  return {
    index: () => scaleIndex(store, key),
    watch: [{ table: 'jobs', key }, ...watchTables(store, SCALE_TABLES, scopeOfKey(key)).watch],
    answer: () => {
      const job = jobs.find(key)
      if (job === undefined) return err(JOB_NOT_FOUND)
      const eventsOf = (group: string) =>
        store.tables.scaling_events.find(scalingEventsKey(namespace, job.ID, group))?.Events ?? []
      return ok(json(scaleStatus(job, allocations.rowsIn('live', key), eventsOf)))
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
  const own = tables.jobs.modifyIndexOf(key)
  if (own === undefined)
    return watchTables(store, ['jobs', ...SCALE_TABLES], scopeOfKey(key)).index()
  let highest = own
  for (const table of [tables.scaling_events, tables.allocations])
    for (const row of table.keysIn('job', key))
      highest = Math.max(highest, table.modifyIndexOf(row) ?? 0)
  return highest
}

/** The one capability, or the two that show the job with its policies. */
const mayListPolicies: Requirement = (caller, request) =>
  inNamespace('list-scaling-policies')(caller, request) ||
  (inNamespace('list-jobs')(caller, request) && inNamespace('read-job')(caller, request))

function namespaceOf({ Target }: ScalingPolicy): string {
  return Target['Namespace'] ?? ''
}

const LIST_POLICIES: NamespaceRight = {
  name: 'list scaling policies',
  isHeld: (grants, namespace) => maySee(grants, namespace, 'list-scaling-policies'),
}

const READ_POLICIES: NamespaceRight = {
  name: 'read scaling policies',
  isHeld: (grants, namespace) => maySee(grants, namespace, 'read-scaling-policy'),
}

function maySee(
  grants: Grants,
  namespace: string,
  capability: 'list-scaling-policies' | 'read-scaling-policy',
): boolean {
  const readsJobs = grants.allows(namespace, 'list-jobs') && grants.allows(namespace, 'read-job')
  return readsJobs || grants.allows(namespace, capability)
}

function listPolicies(
  store: Store,
  request: RequestOf<typeof v1Routes.listScalingPolicies>,
): ReadPlan {
  const { caller, namespace, query } = request
  const { job = '', type = '' } = query
  const isWanted = (row: ScalingPolicy): boolean =>
    maySee(caller.grants, namespaceOf(row), 'list-scaling-policies') &&
    (job === '' || row.Target['Job'] === job) &&
    (type === '' || row.Type === type)
  const watched = watchTables(store, ['scaling_policies'], scopeOf(request, LIST_POLICIES))
  return listWatched(watched, () => ({
    walk: visible(walkOf(store, namespace, job), isWanted),
    query: {},
    filter: {},
    stub: policyStub,
  }))
}

function walkOf({ tables }: Store, namespace: string, job: string) {
  if (namespace === '*') return walkKeys(tables.scaling_policies, '')
  const group = job === '' ? namespace : namespacedKey(namespace, job)
  const index = job === '' ? 'namespace' : 'job'
  return walkGroupKeys(tables.scaling_policies, { index, group })
}

function policyStub(policy: ScalingPolicy): ScalingPolicyStub {
  const { ID, Enabled, Type, Target, CreateIndex, ModifyIndex } = policy
  return { ID, Enabled, Type, Target, CreateIndex, ModifyIndex }
}
