import { v1Routes, type JobStopResponse, type JobWriteResponse } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { formatWarnings } from '@reeve/kit/multi-error.ts'
import {
  allocationStub,
  PERMISSION_DENIED,
  refusal,
  type AllocationRow,
  type Refusal,
} from '../../model/index.ts'
import { namespacedKey, type Store } from '../../state/index.ts'
import {
  registerJob,
  stopJob,
  type JobWritten,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json, jsonItems, jsonText } from '../answer.ts'
import { jobRegion } from '../pipeline/region-routing.ts'
import {
  read,
  write,
  type Endpoint,
  type ReadPlan,
  type RequestOf,
  type Written,
  type WriteRequestOf,
} from './endpoint.ts'
import { jobList, walkJobs } from './job-list.ts'
import { listAnswer } from './list-answer.ts'
import { LIST_JOBS, scopeOf, scopeOfKey, watchTables } from './namespace-scope.ts'
import { inNamespace, somewhere } from './requirements.ts'
import { groupAnswer } from './group-answer.ts'
import { originOf } from '../slices.ts'
import { responseMeta } from './response-meta.ts'

const JOB_NOT_FOUND: Refusal = refusal('job-not-found', 'job not found')

const mayRegister = somewhere('submit-job', 'register-job')

export function jobEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listJobs, inNamespace('list-jobs'), (request) => ok(listJobs(store, request))),
    ...registerEndpoints(context),
    read(v1Routes.readJob, inNamespace('read-job'), ({ namespace, params }) =>
      ok(readOne(store, 'jobs', namespacedKey(namespace, params.job_id))),
    ),
    read(v1Routes.readJobSummary, inNamespace('read-job'), ({ namespace, params }) =>
      ok(readOne(store, 'job_summaries', namespacedKey(namespace, params.job_id))),
    ),
    read(v1Routes.listJobAllocations, inNamespace('read-job'), ({ namespace, params, query }) =>
      ok(
        listAllocations(store, {
          key: namespacedKey(namespace, params.job_id),
          all: query.all ?? false,
        }),
      ),
    ),
    read(v1Routes.listJobEvaluations, inNamespace('read-job'), ({ namespace, params }) =>
      ok(listEvaluations(store, namespacedKey(namespace, params.job_id))),
    ),
    write(v1Routes.stopJob, inNamespace('submit-job', 'deregister-job', 'purge-job'), (request) =>
      stop(context, request),
    ),
  ]
}

function registerEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const endpoints = [
    write(
      v1Routes.registerJob,
      mayRegister,
      ({ caller, body, query, secret, isPart, ...request }) =>
        register(context, caller, {
          body,
          secret,
          isPart,
          origin: originOf(request),
          pathJobId: undefined,
          queryNamespace: query.namespace ?? '',
          queryRegion: query.region ?? '',
        }),
    ),
    write(
      v1Routes.updateJob,
      mayRegister,
      ({ caller, body, query, params, secret, isPart, ...request }) =>
        register(context, caller, {
          body,
          secret,
          isPart,
          origin: originOf(request),
          pathJobId: params.job_id,
          queryNamespace: query.namespace ?? '',
          queryRegion: query.region ?? '',
        }),
    ),
  ]
  return endpoints.map((endpoint) => ({ ...endpoint, resolveRegion: jobRegion }))
}

async function stop(
  context: WorkloadContext,
  { caller, namespace, params, query, secret, isPart }: WriteRequestOf<typeof v1Routes.stopJob>,
): Promise<Result<Written, Refusal>> {
  const purge = query.purge ?? false
  const may = (capability: 'submit-job' | 'purge-job') =>
    caller.grants.allows(namespace, capability)
  // `deregister-job` alone stops a job but does not purge it.
  if (purge && !may('submit-job') && !may('purge-job')) return err(PERMISSION_DENIED)
  const stopped = await stopJob(context, caller, {
    namespace,
    jobId: params.job_id,
    purge,
    evalPriority: query.eval_priority ?? 0,
    noShutdownDelay: query.no_shutdown_delay ?? false,
    everywhere: query.global === true && !isPart ? { secret: secret ?? '' } : undefined,
  })
  if (!stopped.ok) return stopped
  const body: JobStopResponse = {
    EvalID: stopped.value.evalId,
    EvalCreateIndex: stopped.value.evalCreateIndex,
    JobModifyIndex: stopped.value.jobModifyIndex,
    VolumeEvalID: '',
    VolumeEvalIndex: 0,
    ...responseMeta(stopped.value.index),
  }
  return ok({ index: stopped.value.index, answer: json(body) })
}

async function register(
  context: WorkloadContext,
  caller: WriteRequestOf<typeof v1Routes.registerJob>['caller'],
  request: Parameters<typeof registerJob>[2],
) {
  const written = await registerJob(context, caller, request)
  if (!written.ok) return written
  return ok({ index: written.value.index, answer: json(writeResponse(written.value)) })
}

function writeResponse(written: JobWritten): JobWriteResponse {
  return {
    EvalID: written.evalId,
    EvalCreateIndex: written.evalCreateIndex,
    JobModifyIndex: written.jobModifyIndex,
    Warnings: formatWarnings(written.warnings),
    ...responseMeta(written.index),
  }
}

function listJobs(store: Store, request: RequestOf<typeof v1Routes.listJobs>): ReadPlan {
  const { caller, namespace, query } = request
  const selection = {
    namespace,
    prefix: query.prefix ?? '',
    filter: query.filter,
    mayList: (one: string) => caller.grants.allows(one, 'list-jobs'),
  }
  return {
    ...watchTables(store, ['jobs', 'job_summaries'], scopeOf(request, LIST_JOBS)),
    answer: (yieldTurn) => listAnswer(jobList(store, walkJobs(store, selection), query), yieldTurn),
  }
}

/** The index of the job; of an unknown one, the index of its namespace. */
function readOne(store: Store, name: 'jobs' | 'job_summaries', key: string): ReadPlan {
  const table = store.tables[name]
  return {
    index: () => table.modifyIndexOf(key) ?? store.indexIn(name, scopeOfKey(key)),
    watch: [{ table: name, key }],
    answer: () => {
      const body = table.bodyOf(key)
      return body === undefined ? err(JOB_NOT_FOUND) : ok(jsonText(body))
    },
  }
}

interface JobAllocationsQuery {
  readonly key: string
  readonly all: boolean
}

/** Without `all`, only those of the job as it is registered now. */
function listAllocations(store: Store, { key, all }: JobAllocationsQuery): ReadPlan {
  const { allocations, jobs } = store.tables
  return {
    ...watchTables(store, ['allocations'], scopeOfKey(key)),
    answer: (yieldTurn) => {
      const registeredAt = jobs.createIndexOf(key) ?? 0
      const isShown = (row: AllocationRow): boolean => all || row.CreateIndex >= registeredAt
      return groupAnswer(
        allocations,
        {
          index: 'job',
          group: key,
          text: (row) => (isShown(row) ? JSON.stringify(allocationStub(row)) : undefined),
        },
        yieldTurn,
      )
    },
  }
}

function listEvaluations(store: Store, key: string): ReadPlan {
  const { evaluations } = store.tables
  return {
    ...watchTables(store, ['evaluations'], scopeOfKey(key)),
    answer: () =>
      ok(
        jsonItems(
          [...evaluations.keysIn('job', key)].toSorted().map((id) => evaluations.bodyOf(id) ?? ''),
        ),
      ),
  }
}
