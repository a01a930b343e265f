import {
  EXPLAIN_SCOPES,
  type Evaluation,
  type ExplainScope,
  type Explanation,
  type GroupExplanation,
  type Job,
  type TaskGroup,
  type Deployment,
} from '@reeve/contract'
import { formatDurationNs, isoFromMs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Steps } from '@reeve/kit/slices.ts'
import {
  type AllocationRow,
  awaitsPromotion,
  isActiveDeployment,
  isClientTerminal,
  isParent,
  isSystemType,
  LIMITS,
  newEvaluation,
  placementHoldReason,
  placementPhase,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import {
  changeText,
  explainGroupSteps,
  type ExplainOptions,
  type InstanceStatus,
  type Plan,
  scheduleSteps,
  toExplanation,
} from '../../scheduler/index.ts'
import { namespacedKey, type Tables } from '../../state/index.ts'
import { inSlices, type WorkloadContext, type WorkOrigin } from '../context.ts'
import { FreezableView } from './dry-run-view.ts'
import { locateFields } from './checks.ts'
import { dryRunContext } from './plan.ts'
import { readSubmission } from './versions.ts'

/** Options of an explanation. */
interface OfJobsExplainOptions {
  readonly by: ExplainScope
  readonly limit: number
}

const DEFAULT_LIMIT = 20

/** Returns the options from the query of both routes, with the contract's defaults. */
export function explainOptions(query: {
  readonly by?: string | undefined
  readonly limit?: number | undefined
}): Result<OfJobsExplainOptions, Refusal> {
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
  options: OfJobsExplainOptions,
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
  options: OfJobsExplainOptions,
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

interface ExplanationRequest extends OfJobsExplainOptions {
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

interface InstanceStates extends Required<Pick<ExplainOptions, 'statusOf' | 'withheld'>> {
  /** By group: the version that an evaluation would place, if it is not the job's current one. */
  readonly versions: Plan['unplacedVersions']
}

/**
 * Returns the known states of instances besides feasibility: a dry-run evaluation determines which
 * it would place; any that it neither places nor reports as failed waits for something else.
 */
function* explainInstances(context: WorkloadContext, job: Job): Steps<InstanceStates> {
  const { view, clock } = context
  const nowMs = clock.nowMs()
  const { JobModifyIndex: jobModifyIndex } = job
  // This trigger does not force a reschedule, so instances that require one are not reported as
  // placed.
  const options = { id: '', trigger: 'queued-allocs', timeMs: nowMs, jobModifyIndex } as const
  const plan = yield* scheduleSteps(view, newEvaluation(job, options), dryRunContext(nowMs))
  const isOnEveryNode = isSystemType(job.Type)
  const keyOf = (row: AllocationRow): string =>
    instanceKey(row.Name, isOnEveryNode ? row.NodeID : '')
  const placementOf = placementFinder(context, { job, plan, keyOf })
  const terminalRows = newestTerminalRows(context, job, keyOf)
  const dueTimeOf = rescheduleTimes(context, plan)
  const failed = plan.evaluation.FailedTGAllocs ?? {}
  const deployment = view.latestDeployment(job.Namespace, job.ID)
  const lossHold = waitAfterNodeLoss(job, nowMs)
  const instanceState = (name: string, nodeId: string): InstanceStatus | undefined => {
    const key = instanceKey(name, nodeId)
    const previous = terminalRows.get(key)
    const placement = placementOf(key, previous)
    if (placement !== undefined) return placement
    if (lossHold !== undefined) return { ...lossHold, PreviousAllocation: previous?.ID ?? '' }
    const dueIso = previous === undefined ? undefined : dueTimeOf(previous)
    if (previous !== undefined && dueIso !== undefined)
      return delayedInstance(previous, dueIso, nowMs)
    if (Object.hasOwn(failed, groupOfInstance(job, name))) return undefined
    return waitingInstance(
      previous,
      deploymentDelayText(deploymentOfVersion(deployment, job)) ?? terminalText(previous),
    )
  }
  return {
    statusOf: instanceState,
    withheld: plan.withheldPlacements,
    versions: plan.unplacedVersions,
  }
}

/**
 * Returns the state of all instances while the job is held because nodes were lost with it
 * (decision 0061).
 */
function waitAfterNodeLoss(job: Job, nowMs: number): InstanceStatus | undefined {
  const phase = placementPhase(job, nowMs)
  const Text = placementHoldReason(phase, job)
  if (phase.phase === 'open' || Text === undefined) return undefined
  if (phase.phase === 'quarantined') return { State: 'held', Text }
  return { State: 'delayed', WaitUntil: isoFromMs(phase.untilMs), Text }
}

/** Returns a function for the state of an instance that has capacity but still waits. */
function placementFinder({ store }: WorkloadContext, { job, plan, keyOf }: PlacementFinderOptions) {
  const placed = new Map(plan.placements.map((row) => [keyOf(row), row]))
  const withheld = new Map(plan.withheldPlacements.map((row) => [keyOf(row), row]))
  const jobKey = namespacedKey(job.Namespace, job.ID)
  const hasOpenEvaluation = store.tables.evaluations.countByIndex('open', jobKey) > 0
  return (key: string, previous: AllocationRow | undefined): InstanceStatus | undefined => {
    const row = placed.get(key)
    if (row !== undefined)
      return hasOpenEvaluation ? queuedInstance(row) : waitingForEvaluation(previous)
    const waiting = withheld.get(key)
    return waiting === undefined ? undefined : waitingForOthers(waiting, previous)
  }
}

interface PlacementFinderOptions {
  readonly job: Job
  readonly plan: Plan
  readonly keyOf: (row: AllocationRow) => string
}

function instanceKey(name: string, nodeId: string): string {
  return `${nodeId} ${name}`
}

/** Returns the group of `<job>.<group>[<n>]`, where the group may contain brackets too. */
function groupOfInstance(job: Job, name: string): string {
  return name.slice(job.ID.length + 1, name.lastIndexOf('['))
}

/** Returns the newest terminal allocation of each name. */
function newestTerminalRows(
  { view }: WorkloadContext,
  job: Job,
  keyOf: (row: AllocationRow) => string,
): ReadonlyMap<string, AllocationRow> {
  const rows = view
    .allocationsOf(job.Namespace, job.ID)
    .filter((row) => isClientTerminal(row) && row.CreateIndex >= job.CreateIndex)
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex)
  return new Map(rows.map((row) => [keyOf(row), row]))
}

/**
 * Returns the due times of reschedules: of stored follow-up evaluations, and of those that would be
 * created.
 */
function rescheduleTimes(
  { store, clock }: WorkloadContext,
  plan: Plan,
): (row: AllocationRow) => string | undefined {
  const noted = new Map(plan.attributeUpdates.map((row) => [row.ID, row.FollowupEvalID ?? '']))
  const planned = new Map(plan.followUpEvaluations.map((one) => [one.ID, one.WaitUntil]))
  const now = isoFromMs(clock.nowMs())
  return ({ ID, FollowupEvalID: stored = '' }) => {
    const id = noted.get(ID) ?? stored
    const followUp = id === '' ? undefined : store.tables.evaluations.find(id)
    const due = planned.get(id) ?? (followUp?.Status === 'pending' ? followUp.WaitUntil : undefined)
    return due !== undefined && due !== ZERO_TIME && due > now ? due : undefined
  }
}

/** Returns the deployment if it belongs to the current version. */
function deploymentOfVersion(deployment: Deployment | undefined, job: Job): Deployment | undefined {
  const isOwn =
    deployment?.JobCreateIndex === job.CreateIndex && deployment.JobVersion === job.Version
  return isOwn ? deployment : undefined
}

function queuedInstance({ NodeName }: AllocationRow): InstanceStatus {
  const Text = `there is room for it on node ${NodeName}; its evaluation has not run yet`
  return { State: 'queued', Text }
}

function delayedInstance({ ID }: AllocationRow, dueIso: string, nowMs: number): InstanceStatus {
  const seconds = Math.max(1, Math.ceil((Date.parse(dueIso) - nowMs) / 1_000))
  return {
    State: 'delayed',
    WaitUntil: dueIso,
    PreviousAllocation: ID,
    Text: `the previous allocation failed; rescheduling in ${formatDurationNs(seconds * 1e9)}`,
  }
}

function waitingInstance(previous: AllocationRow | undefined, Text: string): InstanceStatus {
  return { State: 'held', PreviousAllocation: previous?.ID ?? '', Text }
}

function waitingForOthers(
  { NodeName }: AllocationRow,
  previous: AllocationRow | undefined,
): InstanceStatus {
  const text = `there is room for it on node ${NodeName}; it waits until all of the job finds room`
  return waitingInstance(previous, text)
}

/** Waits for an evaluation: the successful end of an allocation does not create one. */
function waitingForEvaluation(previous: AllocationRow | undefined): InstanceStatus {
  const text =
    previous === undefined
      ? 'it is placed at the next evaluation of the job'
      : `the one before it is ${previous.ClientStatus}; it is placed again at the next evaluation of the job`
  return waitingInstance(previous, text)
}

function terminalText(previous: AllocationRow | undefined): string {
  return previous === undefined
    ? 'the scheduler does not place it now'
    : `the one before it is ${previous.ClientStatus} and is not placed again`
}

/** Returns how an active deployment delays placement; undefined if it does not. */
function deploymentDelayText(deployment: Deployment | undefined): string | undefined {
  if (deployment === undefined || !isActiveDeployment(deployment)) return undefined
  if (deployment.Status === 'paused') return 'its deployment is paused, and goes on when resumed'
  return awaitsPromotion(deployment)
    ? 'its deployment waits until its canaries are promoted'
    : 'its deployment lets it start when those before it are healthy'
}
