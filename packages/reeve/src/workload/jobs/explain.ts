import {
  EXPLAIN_SCOPES,
  type Evaluation,
  type ExplainScope,
  type Explanation,
  type GroupExplanation,
  type Job,
  type TaskGroup,
} from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Steps } from '@reeve/kit/slices.ts'
import { isParent, LIMITS, newEvaluation, refusal, type Refusal } from '../../model/index.ts'
import { changeText, explainGroupSteps, toExplanation } from '../../scheduler/index.ts'
import { namespacedKey, type Tables } from '../../state/index.ts'
import type { WorkloadContext } from '../context.ts'
import { inSlices, type WorkOrigin } from '../work-origin.ts'
import { FreezableView } from './frozen-view.ts'
import { explainInstances } from './known-instances.ts'
import { locateFields } from './placed-problems.ts'
import { dryRunContext } from './plan.ts'
import { readSubmission } from './submissions.ts'

/** Options of an explanation. */
export interface ExplainOptions {
  readonly by: ExplainScope
  readonly limit: number
}

const DEFAULT_LIMIT = 20

/** Returns the options from the query of both routes, with the contract's defaults. */
export function explainOptions(query: {
  readonly by?: string | undefined
  readonly limit?: number | undefined
}): Result<ExplainOptions, Refusal> {
  const { by: requestedScope = '', limit = DEFAULT_LIMIT } = query
  const by =
    requestedScope === '' ? 'class' : EXPLAIN_SCOPES.find((scope) => scope === requestedScope)
  if (by === undefined)
    return err(refusal('invalid-input', `by must be one of ${EXPLAIN_SCOPES.join(', ')}`))
  const limitMax = LIMITS.explainedItemsMax
  if (limit < 0 || limit > limitMax)
    return err(refusal('invalid-input', `limit must be between 0 and ${limitMax}`))
  return ok({ by, limit })
}

/**
 * Explains why instances of a job are not placed. Runs the scheduler's search on the current state,
 * also for an old evaluation.
 */
export async function explainEvaluation(
  context: WorkloadContext,
  evaluation: Evaluation,
  options: ExplainOptions,
  origin: WorkOrigin,
): Promise<Explanation> {
  const { tables, index } = context.store
  const job = tables.jobs.find(namespacedKey(evaluation.Namespace, evaluation.JobID))
  if (job !== undefined) return await explain(context, { ...options, job, evaluation }, origin)
  return {
    JobID: evaluation.JobID,
    Namespace: evaluation.Namespace,
    JobVersion: 0,
    EvalID: evaluation.ID,
    EvalStatus: evaluation.Status,
    Index: index,
    Text: 'the job is no longer registered',
    Groups: [],
    GroupsOmitted: 0,
  }
}

/** Explains a job by its latest evaluation. */
export async function explainJob(
  context: WorkloadContext,
  { namespace, jobId }: { readonly namespace: string; readonly jobId: string },
  options: ExplainOptions,
  origin: WorkOrigin,
): Promise<Result<Explanation, Refusal>> {
  const { tables } = context.store
  const key = namespacedKey(namespace, jobId)
  const job = tables.jobs.find(key)
  if (job === undefined) return err(refusal('job-not-found', 'job not found'))
  const evaluation = latestEvaluation(tables, key)
  return ok(await explain(context, { ...options, job, evaluation }, origin))
}

function latestEvaluation({ evaluations }: Tables, jobKey: string): Evaluation | undefined {
  let latest = ''
  let latestIndex = -1
  for (const id of evaluations.keysByIndex('job', jobKey)) {
    const index = evaluations.createIndexOf(id) ?? 0
    if (index < latestIndex) continue
    // A blocked evaluation may be created in the commit of its predecessor (decision 0052).
    if (index === latestIndex && evaluations.find(id)?.PreviousEval !== latest) continue
    latest = id
    latestIndex = index
  }
  return evaluations.find(latest)
}

interface ExplanationRequest extends ExplainOptions {
  readonly job: Job
  /** Undefined if none is stored. */
  readonly evaluation: Evaluation | undefined
}

/** Explains in slices, on the state at the start of the first one. */
async function explain(
  context: WorkloadContext,
  explained: ExplanationRequest,
  origin: WorkOrigin,
): Promise<Explanation> {
  const { job } = explained
  const { index } = context.store
  const evaluation = explained.evaluation ?? placeholderEvaluation(job, context.clock.nowMs())
  const reason = reasonNotPlaced(job)
  if (reason !== undefined)
    return { ...toExplanation([], { job, evaluation, index }), Text: reason }
  const view = new FreezableView(context.view, job)
  const steps = explainSteps({ ...context, view: view.view }, { ...explained, evaluation })
  const groups = await inSlices(steps, origin, () => view.freeze())
  const omitted = job.TaskGroups.length - groups.length
  const positioned = await withJobFilePositions(context, job, groups, origin)
  return toExplanation(positioned, { job, evaluation, index, omitted })
}

/** Adds to each suggested edit the position of its field in the job file. */
async function withJobFilePositions(
  context: WorkloadContext,
  job: Job,
  groups: readonly GroupExplanation[],
  origin: WorkOrigin,
): Promise<readonly GroupExplanation[]> {
  const edits = groups.flatMap(({ Changes }) =>
    Changes.flatMap(({ Steps }) => Steps.filter(({ Kind }) => Kind === 'edit-job')),
  )
  const paths = [...new Set(edits.map(({ Path }) => Path))]
  if (paths.length === 0) return groups
  const { Namespace: namespace, ID: jobId, Version: version } = job
  const submission = await readSubmission(context.store, { namespace, jobId, version })
  const indexed = paths.map((path) => toIndexedPath(job, path))
  const places = await locateFields(context, submission, indexed, origin)
  const positionByPath = new Map(places.map((position, i) => [paths[i], position]))
  return groups.map((group) => ({
    ...group,
    Changes: group.Changes.map((change) => {
      const steps = change.Steps.map((step) => {
        const position = step.Kind === 'edit-job' ? positionByPath.get(step.Path) : undefined
        return position === undefined ? step : { ...step, Place: position }
      })
      return { ...change, Steps: steps, Text: changeText(steps) }
    }),
  }))
}

/** Replaces the names in `TaskGroups[web].Tasks[api].…` by indexes. */
function toIndexedPath(job: Job, path: string): string {
  const groupIndex = job.TaskGroups.findIndex(({ Name }) => path.startsWith(`TaskGroups[${Name}].`))
  const group = job.TaskGroups[groupIndex]
  if (group === undefined) return path
  const rest = path.slice(`TaskGroups[${group.Name}]`.length)
  const taskIndex = group.Tasks.findIndex(({ Name }) => rest.startsWith(`.Tasks[${Name}].`))
  const name = group.Tasks[taskIndex]?.Name
  const inTask =
    name === undefined ? rest : rest.replace(`.Tasks[${name}]`, () => `.Tasks[${taskIndex}]`)
  return `TaskGroups[${groupIndex}]${inTask}`
}

function* explainSteps(
  context: WorkloadContext,
  { job, by, limit, evaluation }: ExplanationRequest & { readonly evaluation: Evaluation },
): Steps<readonly GroupExplanation[]> {
  const { store, view, clock } = context
  const planning = dryRunContext(clock.nowMs())
  const nodes = [...store.tables.nodes.rows()]
  const { versions, ...instanceStates } = yield* explainInstances(context, job)
  const groups: GroupExplanation[] = []
  for (const jobGroup of job.TaskGroups.slice(0, LIMITS.explainedGroupsMax)) {
    const { version, group } = groupOfStableVersion(jobGroup, versions.get(jobGroup.Name)) ?? {
      version: job,
      group: jobGroup,
    }
    const options = { view, job: version, nodes, evaluation, context: planning, scope: by, limit }
    groups.push(yield* explainGroupSteps(group, { ...options, ...instanceStates }))
  }
  return groups
}

/** Returns the group as its last stable version would be placed, with the job's count. */
function groupOfStableVersion(own: TaskGroup, version: Job | undefined) {
  const group = version?.TaskGroups.find(({ Name }) => Name === own.Name)
  if (version === undefined || group === undefined) return undefined
  return { version, group: { ...group, Count: own.Count } }
}

/** Returns the reason why there is nothing to place. */
function reasonNotPlaced(job: Job): string | undefined {
  if (job.Stop) return 'the job is stopped'
  return isParent(job)
    ? 'the job itself runs nothing: its child jobs are placed, list them with `reeve job status`'
    : undefined
}

/** Returns a stand-in for an evaluation that was garbage-collected; its placements are complete. */
function placeholderEvaluation(job: Job, timeMs: number): Evaluation {
  const { JobModifyIndex: jobModifyIndex } = job
  return {
    ...newEvaluation(job, { id: '', trigger: 'job-register', timeMs, jobModifyIndex }),
    Status: 'complete',
  }
}
