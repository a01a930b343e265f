import {
  v1Routes,
  type Job,
  type JobStabilityResponse,
  type JobWriteResponse,
  PolicyVerdict,
} from '@reeve/contract'
import { formatWarnings } from '@reeve/kit/multi-error.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { runInSlices } from '@reeve/kit/slices.ts'
import { fieldTypeFromSchema } from '../../lang/filter/index.ts'
import { diffJobsSteps, LIMITS, refusal, type Refusal } from '../../model/index.ts'
import { jobVersionKey, namespacedKey, type Store } from '../../state/index.ts'
import {
  findSubmission,
  jobActions,
  readSubmission,
  revertJob,
  setStability,
  tagNotFound,
  tagVersion,
  untagVersion,
  versionKeysOf,
  type WorkloadContext,
} from '../../workload/index.ts'
import { EMPTY_RESPONSE, json, jsonText } from '../response.ts'
import { sliceOptions } from '../list-page.ts'
import {
  read,
  write,
  type Endpoint,
  type WatchedRead,
  type V1Request,
  type WriteResult,
  type WriteRequestOf,
} from './endpoint.ts'
import {
  filterVisible,
  keyScope,
  listWatched,
  namespaceScope,
  READ_JOB,
  readRow,
  requestScope,
  scanByKey,
  scanIndex,
  watchTables,
} from './reads.ts'
import { requireBody } from './errors.ts'
import { inNamespace } from './access.ts'
import { responseMeta } from './responses.ts'

const VERSIONS_NOT_FOUND = refusal('job-version-not-found', 'job versions not found')
const SOURCE_NOT_FOUND = refusal('job-version-not-found', 'job source not found')
const DIFFS_TOO_LARGE = refusal(
  'invalid-input',
  `the diffs of these versions are longer than ${LIMITS.diffsCharsMax} characters`,
)
const VERSION_UNREADABLE = refusal(
  'invalid-input',
  'Unable to parse job submission version parameter',
)

const mayTag = inNamespace('submit-job', 'tag-job-version')

export function jobVersionEndpoints(context: WorkloadContext): readonly Endpoint[] {
  const { store } = context
  return [
    read(v1Routes.listJobVersions, inNamespace('read-job'), (request) =>
      ok(listVersions(store, request)),
    ),
    read(v1Routes.readJobSubmission, inNamespace('read-job'), (request) =>
      submissionRoute(store, request),
    ),
    write(v1Routes.revertJob, inNamespace('submit-job', 'revert-job'), (request) =>
      revertRoute(context, request),
    ),
    write(v1Routes.setJobStability, inNamespace('submit-job', 'stable-job'), (request) =>
      setStabilityRoute(context, request),
    ),
    write(v1Routes.tagJobVersion, mayTag, (request) => tagRoute(context, request)),
    write(v1Routes.untagJobVersion, mayTag, async ({ caller, namespace, params }) => {
      const { job_id: jobId, tag_name: name } = params
      const written = await untagVersion(context, caller, { namespace, jobId, tag: name })
      return written.ok ? ok({ index: written.value.index, response: EMPTY_RESPONSE }) : written
    }),
  ]
}

async function revertRoute(
  context: WorkloadContext,
  { caller, namespace, params, ...request }: WriteRequestOf<typeof v1Routes.revertJob>,
): Promise<Result<WriteResult, Refusal>> {
  const body = requireBody(request.body)
  if (!body.ok) return body
  const written = await revertJob(context, caller, {
    namespace,
    jobId: params.job_id,
    body: body.value,
  })
  if (!written.ok) return written
  const { evalId, evalCreateIndex, jobModifyIndex, warnings, index } = written.value
  const responseBody: JobWriteResponse = {
    EvalID: evalId,
    EvalCreateIndex: evalCreateIndex,
    JobModifyIndex: jobModifyIndex,
    Warnings: formatWarnings(warnings),
    ...responseMeta(index),
  }
  return ok({ index, response: json(responseBody) })
}

async function setStabilityRoute(
  context: WorkloadContext,
  { namespace, params, ...request }: WriteRequestOf<typeof v1Routes.setJobStability>,
): Promise<Result<WriteResult, Refusal>> {
  const body = requireBody(request.body)
  if (!body.ok) return body
  const jobId = params.job_id
  const written = await setStability(context, request.caller, {
    namespace,
    jobId,
    body: body.value,
  })
  if (!written.ok) return written
  const { index } = written.value
  const responseBody: JobStabilityResponse = { JobModifyIndex: index, Index: index }
  return ok({ index, response: json(responseBody) })
}

async function tagRoute(
  context: WorkloadContext,
  { namespace, params, ...request }: WriteRequestOf<typeof v1Routes.tagJobVersion>,
): Promise<Result<WriteResult, Refusal>> {
  const body = requireBody(request.body)
  if (!body.ok) return body
  const name = { namespace, jobId: params.job_id, tag: params.tag_name }
  const tagged = await tagVersion(context, request.caller, name, body.value)
  return tagged.ok ? ok({ index: tagged.value.index, response: json(tagged.value.tag) }) : tagged
}

/** Returns the index of a submission; 0 if there is none, which is sent as 1. */
function submissionRoute(
  store: Store,
  { namespace, params, query }: V1Request<typeof v1Routes.readJobSubmission>,
): Result<WatchedRead, Refusal> {
  // The parser omits absent query parameters.
  const version: number | undefined = query.version
  if (version === undefined) return err(VERSION_UNREADABLE)
  const name = { namespace, jobId: params.job_id, version }
  return ok({
    index: () => findSubmission(store, name)?.JobModifyIndex ?? 0,
    watch: [
      { table: 'job_submissions', key: jobVersionKey(namespace, name.jobId, version) },
      { table: 'jobs', key: namespacedKey(namespace, name.jobId) },
    ],
    respond: async () => {
      const found = await readSubmission(store, name)
      return found === undefined ? err(SOURCE_NOT_FOUND) : ok(json(found))
    },
  })
}

/**
 * Lists the versions. The current one is shown as the job itself, with its status. Only writes to
 * the job or to one of its versions wake a blocking query.
 */
function listVersions(
  store: Store,
  { namespace, params, query }: V1Request<typeof v1Routes.listJobVersions>,
): WatchedRead {
  const key = namespacedKey(namespace, params.job_id)
  return {
    index: () => versionsIndex(store, key),
    // Recomputed at each wake-up: there may be more versions by then.
    get watch() {
      const versions = versionKeys(store, key).map((version) => ({
        table: 'job_versions',
        key: version,
      }))
      return [{ table: 'jobs', key }, ...versions]
    },
    respond: async (yieldTurn) => {
      const texts = versionJsons(store, key)
      if (texts.length === 0) return err(VERSIONS_NOT_FOUND)
      const index = versionsIndex(store, key)
      const diffs = await versionDiffs(texts, query, yieldTurn)
      if (!diffs.ok) return diffs
      const meta = JSON.stringify(responseMeta(index)).slice(1)
      return ok(jsonText(`{"Versions":[${texts.join(',')}],"Diffs":${diffs.value},${meta}`))
    },
  }
}

/** Returns the highest index of all versions; for an unknown job, the index of its namespace. */
function versionsIndex(store: Store, key: string): number {
  const { jobs, job_versions } = store.tables
  const jobIndex = jobs.modifyIndexOf(key)
  if (jobIndex === undefined)
    return watchTables(store, ['jobs', 'job_versions'], keyScope(key)).index()
  const versions = [...job_versions.keysByIndex('job', key)]
  return Math.max(jobIndex, ...versions.map((version) => job_versions.modifyIndexOf(version) ?? 0))
}

/** Returns the keys of the versions, newest first. */
function versionKeys(store: Store, key: string): readonly string[] {
  return versionKeysOf(store, key).toReversed()
}

function versionJsons(store: Store, key: string): readonly string[] {
  const { jobs, job_versions } = store.tables
  return versionKeys(store, key).map((version, i) =>
    i === 0 ? (jobs.rowJsonOf(key) ?? '') : (job_versions.rowJsonOf(version) ?? ''),
  )
}

interface DiffQuery {
  readonly diffs?: boolean
  readonly diff_version?: number
  readonly diff_tag?: string
}

/**
 * Returns the diffs as JSON: each version against the previous one, or all against a named one. A
 * diff of two large jobs takes a while, so it yields to other requests in between.
 */
async function versionDiffs(
  jsons: readonly string[],
  query: DiffQuery,
  yieldTurn: () => Promise<void>,
): Promise<Result<string, Refusal>> {
  const isNamed = query.diff_version !== undefined || (query.diff_tag ?? '') !== ''
  if (!(query.diffs ?? isNamed)) return ok('null')
  // Stored jobs, as text.
  const versions = jsons.map((text) => JSON.parse(text) as Job)
  const base = isNamed ? findDiffBase(versions, query) : ok(undefined)
  if (!base.ok) return base
  const diffs: string[] = []
  let chars = 0
  for (const [i, version] of versions.entries()) {
    const previous = base.value ?? versions[i + 1]
    if (previous === undefined) continue
    await yieldTurn()
    const steps = diffJobsSteps(previous, version, { contextual: true })
    const diff = JSON.stringify(await runInSlices(steps, sliceOptions(yieldTurn)))
    chars += diff.length
    if (chars > LIMITS.diffsCharsMax) return err(DIFFS_TOO_LARGE)
    diffs.push(diff)
  }
  return ok(diffs.length === 0 ? 'null' : `[${diffs.join(',')}]`)
}

function findDiffBase(versions: readonly Job[], query: DiffQuery): Result<Job, Refusal> {
  const { diff_version: version, diff_tag: tagName = '' } = query
  const base =
    tagName === ''
      ? versions.find((row) => row.Version === version)
      : versions.find((row) => row.VersionTag?.Name === tagName)
  if (base !== undefined) return ok(base)
  return err(
    tagName === ''
      ? refusal('job-version-not-found', `version ${version} not found`)
      : tagNotFound(tagName),
  )
}

const VERDICT_FILTER = { rowType: fieldTypeFromSchema(PolicyVerdict) }

const mayRead = inNamespace('read-job')

/** Returns the routes for denials and overrides of job submissions. */
export function policyVerdictEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  const { policy_verdicts: verdicts } = store.tables
  const listOptions = { filter: VERDICT_FILTER, stub: (row: PolicyVerdict) => row }
  return [
    read(v1Routes.listPolicyVerdicts, mayRead, (request) => {
      const { caller, namespace, query } = request
      const { prefix = '' } = query
      const watched = watchTables(store, ['policy_verdicts'], requestScope(request, READ_JOB))
      const walk = filterVisible(
        scanByKey(verdicts, namespace === '*' ? '' : `${namespace}!`),
        (row) => row.JobID.startsWith(prefix) && caller.grants.allows(row.Namespace, 'read-job'),
      )
      return ok(listWatched(watched, () => ({ ...listOptions, scan: walk, query })))
    }),
    read(v1Routes.listJobVerdicts, mayRead, ({ namespace, params, query }) => {
      const { job_id: jobId } = params
      const watched = watchTables(store, ['policy_verdicts'], namespaceScope(namespace))
      const walk = scanIndex(verdicts, 'job', namespacedKey(namespace, jobId))
      return ok(listWatched(watched, () => ({ ...listOptions, scan: walk, query })))
    }),
  ]
}

/** Returns the route that lists the actions of a job. */
export function jobActionEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  return [
    read(v1Routes.listJobActions, inNamespace('read-job'), ({ namespace, params }) =>
      ok(
        readRow(store.tables.jobs, {
          key: namespacedKey(namespace, params.job_id),
          notFound: refusal('job-not-found', 'job not found'),
          render: jobActions,
        }),
      ),
    ),
  ]
}
