import {
  v1Routes,
  type JobStopResponse,
  type JobWriteResponse,
  type JobDispatchResponse,
  type JobDispatchRequest,
  type PeriodicForceResponse,
} from '@reeve/contract'
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
  type JobWriteResult,
  type WorkloadContext,
  dispatchJob,
  evaluateJob,
  forcePeriodicJob,
  releaseJob,
  planJob,
  parseJob,
  validateSubmittedJob,
} from '../../workload/index.ts'
import { json, jsonItems, jsonText } from '../response.ts'
import { jobRegion } from '../pipeline/region-routing.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import { jobList, scanJobs } from './job-list.ts'
import {
  groupResponse,
  keyScope,
  LIST_JOBS,
  listResponse,
  requestScope,
  watchTables,
} from './reads.ts'
import { inNamespace, inAnyNamespace, requireAll } from './access.ts'
import { workOrigin } from '../list-page.ts'
import { responseMeta } from './responses.ts'

const JOB_NOT_FOUND: Refusal = refusal('job-not-found', 'job not found')

const mayRegister = inAnyNamespace('submit-job', 'register-job')

export function jobEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listJobs, inNamespace('list-jobs'), (request) => ok(listJobs(store, request))),
    ...registerEndpoints(context),
    read(v1Routes.readJob, inNamespace('read-job'), ({ namespace, params }) =>
      ok(readJobRow(store, 'jobs', namespacedKey(namespace, params.job_id))),
    ),
    read(v1Routes.readJobSummary, inNamespace('read-job'), ({ namespace, params }) =>
      ok(readJobRow(store, 'job_summaries', namespacedKey(namespace, params.job_id))),
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
      stopRoute(context, request),
    ),
  ]
}

function registerEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const endpoints = [
    write(
      v1Routes.registerJob,
      mayRegister,
      ({ caller, body, query, token, isRegionalSubrequest, ...request }) =>
        registerRoute(context, caller, {
          body,
          secret: token,
          isRegionalJob: isRegionalSubrequest,
          origin: workOrigin(request),
          pathJobId: undefined,
          queryNamespace: query.namespace ?? '',
          queryRegion: query.region ?? '',
        }),
    ),
    write(
      v1Routes.updateJob,
      mayRegister,
      ({ caller, body, query, params, token, isRegionalSubrequest, ...request }) =>
        registerRoute(context, caller, {
          body,
          secret: token,
          isRegionalJob: isRegionalSubrequest,
          origin: workOrigin(request),
          pathJobId: params.job_id,
          queryNamespace: query.namespace ?? '',
          queryRegion: query.region ?? '',
        }),
    ),
  ]
  return endpoints.map((endpoint) => ({ ...endpoint, resolveRegion: jobRegion }))
}

async function stopRoute(
  context: WorkloadContext,
  {
    caller,
    namespace,
    params,
    query,
    token,
    isRegionalSubrequest,
  }: WriteRequestOf<typeof v1Routes.stopJob>,
): Promise<Result<WriteResult, Refusal>> {
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
    allRegions:
      query.global === true && !isRegionalSubrequest ? { secret: token ?? '' } : undefined,
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
  return ok({ index: stopped.value.index, response: json(body) })
}

async function registerRoute(
  context: WorkloadContext,
  caller: WriteRequestOf<typeof v1Routes.registerJob>['caller'],
  request: Parameters<typeof registerJob>[2],
) {
  const written = await registerJob(context, caller, request)
  if (!written.ok) return written
  return ok({ index: written.value.index, response: json(writeResponse(written.value)) })
}

function writeResponse(written: JobWriteResult): JobWriteResponse {
  return {
    EvalID: written.evalId,
    EvalCreateIndex: written.evalCreateIndex,
    JobModifyIndex: written.jobModifyIndex,
    Warnings: formatWarnings(written.warnings),
    ...responseMeta(written.index),
  }
}

function listJobs(store: Store, request: V1Request<typeof v1Routes.listJobs>): WatchedRead {
  const { caller, namespace, query } = request
  const selection = {
    namespace,
    prefix: query.prefix ?? '',
    filter: query.filter,
    mayList: (one: string) => caller.grants.allows(one, 'list-jobs'),
  }
  return {
    ...watchTables(store, ['jobs', 'job_summaries'], requestScope(request, LIST_JOBS)),
    respond: (yieldTurn) =>
      listResponse(jobList(store, scanJobs(store, selection), query), yieldTurn),
  }
}

/** Reads a row of a job. The index of an unknown job is that of its namespace. */
function readJobRow(store: Store, name: 'jobs' | 'job_summaries', key: string): WatchedRead {
  const table = store.tables[name]
  return {
    index: () => table.modifyIndexOf(key) ?? store.indexIn(name, keyScope(key)),
    watch: [{ table: name, key }],
    respond: () => {
      const body = table.rowJsonOf(key)
      return body === undefined ? err(JOB_NOT_FOUND) : ok(jsonText(body))
    },
  }
}

interface JobAllocationsQuery {
  readonly key: string
  readonly all: boolean
}

/** Lists a job's allocations; without `all`, only those since its registration. */
function listAllocations(store: Store, { key, all }: JobAllocationsQuery): WatchedRead {
  const { allocations, jobs } = store.tables
  return {
    ...watchTables(store, ['allocations'], keyScope(key)),
    respond: (yieldTurn) => {
      const registeredAt = jobs.createIndexOf(key) ?? 0
      const isShown = (row: AllocationRow): boolean => all || row.CreateIndex >= registeredAt
      return groupResponse(
        allocations,
        {
          index: 'job',
          group: key,
          renderJson: (row) => (isShown(row) ? JSON.stringify(allocationStub(row)) : undefined),
        },
        yieldTurn,
      )
    },
  }
}

function listEvaluations(store: Store, key: string): WatchedRead {
  const { evaluations } = store.tables
  return {
    ...watchTables(store, ['evaluations'], keyScope(key)),
    respond: () =>
      ok(
        jsonItems(
          [...evaluations.keysByIndex('job', key)]
            .toSorted()
            .map((id) => evaluations.rowJsonOf(id) ?? ''),
        ),
      ),
  }
}

const mayDispatch = inNamespace('dispatch-job')
const mayForce = inNamespace('dispatch-job', 'submit-job', 'force-periodic-job')
const mayEvaluate = inNamespace('submit-job', 'evaluate-job')

export function jobLaunchEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    write(v1Routes.dispatchJob, mayDispatch, (request) =>
      dispatchRoute(context, request, request.body),
    ),
    // A raw payload arrives as base64, like the `Payload` of a JSON body.
    write(v1Routes.dispatchJobPayload, mayDispatch, (request) =>
      dispatchRoute(context, request, { Payload: request.body }),
    ),
    write(v1Routes.forcePeriodicJob, mayForce, (request) => forceRoute(context, request)),
    write(v1Routes.evaluateJob, mayEvaluate, (request) => evaluateRoute(context, request)),
    write(v1Routes.releaseJob, inNamespace('submit-job'), (request) =>
      releaseRoute(context, request),
    ),
  ]
}

async function dispatchRoute(
  context: WorkloadContext,
  request: Omit<WriteRequestOf<typeof v1Routes.dispatchJob>, 'body'>,
  body: JobDispatchRequest | undefined,
): Promise<Result<WriteResult, Refusal>> {
  const { caller, namespace, params, query } = request
  const dispatched = await dispatchJob(context, caller, {
    namespace,
    jobId: params.job_id,
    body,
    idempotencyToken: query.idempotency_token ?? '',
  })
  if (!dispatched.ok) return dispatched
  const { childId, evalId, evalCreateIndex, jobCreateIndex, index, warnings } = dispatched.value
  const responseBody: JobDispatchResponse = {
    DispatchedJobID: childId,
    EvalID: evalId,
    EvalCreateIndex: evalCreateIndex,
    JobCreateIndex: jobCreateIndex,
    Index: index,
    ...(warnings.length === 0 ? {} : { Warnings: formatWarnings(warnings) }),
  }
  return ok({ index, response: json(responseBody) })
}

async function forceRoute(
  context: WorkloadContext,
  { caller, namespace, params }: WriteRequestOf<typeof v1Routes.forcePeriodicJob>,
): Promise<Result<WriteResult, Refusal>> {
  const launched = await forcePeriodicJob(context, caller, { namespace, jobId: params.job_id })
  if (!launched.ok) return launched
  const { evalId, index } = launched.value
  const responseBody: PeriodicForceResponse = {
    EvalID: evalId,
    EvalCreateIndex: index,
    Index: index,
  }
  return ok({ index, response: json(responseBody) })
}

async function evaluateRoute(
  context: WorkloadContext,
  { caller, namespace, params, body }: WriteRequestOf<typeof v1Routes.evaluateJob>,
): Promise<Result<WriteResult, Refusal>> {
  const evaluated = await evaluateJob(context, caller, { namespace, jobId: params.job_id, body })
  return evaluated.ok ? ok(jobWriteResult(evaluated.value)) : evaluated
}

async function releaseRoute(
  context: WorkloadContext,
  { caller, namespace, params }: WriteRequestOf<typeof v1Routes.releaseJob>,
): Promise<Result<WriteResult, Refusal>> {
  const released = await releaseJob(context, caller, { namespace, jobId: params.job_id })
  return released.ok ? ok(jobWriteResult(released.value)) : released
}

function jobWriteResult(written: JobWriteResult): WriteResult {
  const { evalId, evalCreateIndex, jobModifyIndex, index, warnings } = written
  const responseBody: JobWriteResponse = {
    EvalID: evalId,
    EvalCreateIndex: evalCreateIndex,
    JobModifyIndex: jobModifyIndex,
    Warnings: formatWarnings(warnings),
    ...responseMeta(index),
  }
  return { index, response: json(responseBody) }
}

export function jobPlanEndpoints(context: WorkloadContext): readonly Endpoint[] {
  // `register-job` allows another region to plan its part of a multi-region job here.
  const mayPlan = inAnyNamespace('submit-job', 'plan-job', 'register-job')
  const endpoint = write(v1Routes.planJob, mayPlan, (request) => planJobRoute(context, request))
  return [{ ...endpoint, resolveRegion: jobRegion }]
}

async function planJobRoute(
  context: WorkloadContext,
  {
    caller,
    body,
    query,
    params,
    isRegionalSubrequest,
    ...request
  }: V1Request<typeof v1Routes.planJob>,
): Promise<Result<WriteResult, Refusal>> {
  const planned = await planJob(context, caller, {
    body,
    isRegionalJob: isRegionalSubrequest,
    origin: workOrigin(request),
    pathJobId: params.job_id,
    queryNamespace: query.namespace ?? '',
    queryRegion: query.region ?? '',
  })
  return planned.ok ? ok({ index: planned.value.Index, response: json(planned.value) }) : planned
}

const mayParse = requireAll(inNamespace('parse-job'), inNamespace('submit-job'))

export function jobFileEndpoints(context: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.parseJob, mayParse, (request) => ok(parseJobRoute(context, request))),
    read(v1Routes.validateJob, inAnyNamespace('read-job'), (request) =>
      ok(validateJobRoute(context, request)),
    ),
  ]
}

function parseJobRoute(
  context: WorkloadContext,
  { body, namespace, ...request }: V1Request<typeof v1Routes.parseJob>,
): WatchedRead {
  return {
    index: () => context.store.index,
    watch: [],
    readsState: false,
    respond: async () => {
      const parsed = await parseJob(context, { body, namespace, origin: workOrigin(request) })
      return parsed.ok ? ok(jsonText(parsed.value)) : parsed
    },
  }
}

function validateJobRoute(
  context: WorkloadContext,
  { caller, body, query, ...request }: V1Request<typeof v1Routes.validateJob>,
): WatchedRead {
  const submitted = {
    body,
    queryNamespace: query.namespace ?? '',
    queryRegion: query.region ?? '',
    origin: workOrigin(request),
  }
  return {
    index: () => context.store.index,
    watch: [],
    respond: async () => {
      const validated = await validateSubmittedJob(context, caller, submitted)
      return validated.ok ? ok(json(validated.value)) : validated
    },
  }
}
