import type { Allocation, AllocationStub } from './allocation.ts'
import type { Failure, FailureKind } from './failure.ts'
import type { Evaluation } from './evaluation.ts'
import type { Job } from './job.ts'
import type { PlacementMetrics } from './metrics.ts'
import type { PolicyVerdict } from './policy-verdict.ts'
import type { JobChildrenSummary, TaskGroupSummary } from './summary.ts'
import type { TaskEvent } from './task-state.ts'

/** Health of a job, for badges, filters and lists; the worst first. */
export const JOB_HEALTHS = [
  'failing',
  'degraded',
  'blocked',
  'deploying',
  'pending',
  'running',
  'scheduled',
  'complete',
  'stopped',
] as const
export type JobHealth = (typeof JOB_HEALTHS)[number]

/** Inputs of the health of a job. */
export interface JobHealthFacts {
  readonly job: Pick<Job, 'Stop' | 'Status' | 'Type'>
  /** True for a job that only launches child jobs. */
  readonly isParent: boolean
  /** Desired number of allocations; 0 for types whose count depends on the nodes. */
  readonly wanted: number
  /** Sum of the allocation counts of all groups. */
  readonly counts: TaskGroupSummary
  readonly children: JobChildrenSummary | null
  readonly isDeploying: boolean
  /** True if a check of a registered service instance fails. */
  readonly hasFailingChecks: boolean
  /** Starting allocations whose tasks have failed and wait for their restart. */
  readonly restarting: number
  /** True if a running allocation keeps restarting. */
  readonly isUnstable: boolean
}

/** Returns the health of a job: the first rule that matches decides. */
export function jobHealth(facts: JobHealthFacts): JobHealth {
  const { job, isParent, wanted, children, isDeploying } = facts
  if (job.Stop) return 'stopped'
  if (isParent) return children !== null && children.Running > 0 ? 'running' : 'scheduled'
  const starting = facts.counts.Starting - facts.restarting
  const counts = { ...facts.counts, Starting: starting }
  const failed = counts.Failed + counts.Lost + facts.restarting
  const hasEnded = job.Status === 'dead'
  if (hasEnded) return failed > 0 && counts.Complete < Math.max(1, wanted) ? 'failing' : 'complete'
  if (counts.Running === 0 && failed > 0 && !isRetried(counts)) return 'failing'
  if (isDeploying) return 'deploying'
  if (counts.Queued > 0) return 'blocked'
  if (counts.Starting > 0 || counts.Running === 0) return failed > 0 ? 'degraded' : 'pending'
  const isBatch = job.Type === 'batch' || job.Type === 'sysbatch'
  if (!isBatch && counts.Running < wanted) return 'degraded'
  return counts.Unknown > 0 || facts.hasFailingChecks || facts.isUnstable ? 'degraded' : 'running'
}

/** Reports whether a replacement of a failed allocation waits for capacity or is starting. */
function isRetried({ Starting, Queued }: TaskGroupSummary): boolean {
  return Starting > 0 || Queued > 0
}

/** Health of an allocation, for badges and lists. */
export const ALLOCATION_HEALTHS = [
  'pending',
  'running',
  'healthy',
  'unhealthy',
  'failing',
  'stopping',
  'complete',
  'stopped',
  'replaced',
  'failed',
  'lost',
  'unknown',
] as const
export type AllocationHealth = (typeof ALLOCATION_HEALTHS)[number]

/** Inputs of the health of an allocation; without task states, none counts as failing. */
export type AllocationHealthFacts = FailedAllocation &
  Pick<AllocationStub | Allocation, 'DesiredStatus' | 'NextAllocation'>

/** Returns the health of an allocation, the same on every page and in every command. */
export function allocationHealth(
  allocation: AllocationHealthFacts,
  nowMs: number,
): AllocationHealth {
  const { ClientStatus, DesiredStatus, DeploymentStatus, NextAllocation } = allocation
  const isStopRequested = DesiredStatus !== 'run'
  if (ClientStatus === 'complete')
    return !isStopRequested ? 'complete' : NextAllocation === '' ? 'stopped' : 'replaced'
  if (ClientStatus !== 'running' && ClientStatus !== 'pending') return ClientStatus
  if (isStopRequested) return 'stopping'
  if (DeploymentStatus?.Healthy === false) return 'unhealthy'
  if (failureOf(allocation, nowMs) !== undefined) return 'failing'
  if (ClientStatus === 'pending') return 'pending'
  return DeploymentStatus?.Healthy === true ? 'healthy' : 'running'
}

const TEXT_LENGTH_MAX = 300

type FailedAllocation = Pick<
  AllocationStub | Allocation,
  'ID' | 'ClientStatus' | 'ClientDescription' | 'ModifyTime' | 'TaskStates' | 'DeploymentStatus'
>

type JobAllocation = FailedAllocation & Pick<AllocationStub, 'PreviousAllocation' | 'JobVersion'>

/** Records of a job that explain why it fails. */
export interface JobFailureRecords {
  readonly allocations: readonly JobAllocation[]
  /** Blocked ones name the groups that no node has capacity for. */
  readonly evaluations?: readonly Pick<Evaluation, 'Status' | 'FailedTGAllocs' | 'ModifyTime'>[]
  readonly verdicts?: readonly Pick<PolicyVerdict, 'Result' | 'Operation' | 'Time' | 'Outcomes'>[]
}

/**
 * Returns why a job fails: the failures of allocations of the current version that have no
 * replacement, then the groups without capacity, then a denied submission.
 */
export function failuresOfJob(
  { Stop, Version, SubmitTime }: Pick<Job, 'Stop' | 'Version' | 'SubmitTime'>,
  { allocations, evaluations = [], verdicts = [] }: JobFailureRecords,
  nowMs: number,
): readonly Failure[] {
  const denials = denialFailures(verdicts, { SubmitTime, nowMs })
  if (Stop) return denials
  const replaced = new Set(allocations.map(({ PreviousAllocation }) => PreviousAllocation))
  const current = allocations.filter(
    ({ ID, JobVersion }) => JobVersion === Version && !replaced.has(ID),
  )
  return [...failuresOf(current, nowMs), ...placementFailures(evaluations), ...denials]
}

function placementFailures(
  evaluations: NonNullable<JobFailureRecords['evaluations']>,
): readonly Failure[] {
  const blocked = evaluations.find(({ Status }) => Status === 'blocked')
  const groups = Object.entries(blocked?.FailedTGAllocs ?? {})
  return groups
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([group, metrics]) => ({
      Kind: 'unplaced',
      Text: truncate(`group "${group}": ${placementFailureText(metrics)}`),
      AllocID: '',
      Task: '',
      Time: blocked?.ModifyTime ?? 0,
      ExitCode: null,
      Count: unplacedCount(metrics),
    }))
}

/** Number of allocations of a group that could not be placed; 0 without metrics. */
export function unplacedCount(metrics: PlacementMetrics | undefined): number {
  return metrics === undefined ? 0 : metrics.CoalescedFailures + 1
}

/** Why no node takes allocations of a group, in one sentence without a full stop. */
function placementFailureText(metrics: PlacementMetrics): string {
  const count = unplacedCount(metrics)
  const head = `${count} ${count === 1 ? 'allocation' : 'allocations'} could not be placed`
  const reasons = placementFailureReasons(metrics)
  return reasons.length === 0 ? head : `${head}: ${reasons.join('; ').replace(/\.$/, '')}`
}

/** Returns why no node takes allocations of a group, with the number of nodes for each reason. */
export function placementFailureReasons(metrics: PlacementMetrics): readonly string[] {
  const { NodesInPool, NodePool, NodesAvailable, NodesEvaluated } = metrics
  if (NodesInPool === 0 || NodesEvaluated === 0) return [noNodesReason(NodePool, NodesAvailable)]
  return [
    ...preferReasons(
      nodeCounts(metrics.ConstraintFiltered, (name) => `not met: ${name}`),
      nodeCounts(metrics.ClassFiltered, (name) => `node class "${name}" is refused`),
    ),
    ...preferReasons(
      nodeCounts(metrics.DimensionExhausted, (name) => `not enough: ${name}`),
      nodeCounts(metrics.ClassExhausted, (name) => `node class "${name}" is full`),
    ),
    ...(metrics.QuotaExhausted ?? []).map((name) => `the quota is used up: ${name}`),
  ]
}

/** Prefers reasons to node classes: both count the same nodes. */
function preferReasons(reasons: readonly string[], classes: readonly string[]): readonly string[] {
  return reasons.length > 0 ? reasons : classes
}

function noNodesReason(pool: string, available: PlacementMetrics['NodesAvailable']): string {
  const places = Object.entries(available).filter(([, count]) => count > 0)
  const seen = places.map(([name, count]) => `${name} (${nodeCount(count)})`).join(', ')
  const where = `no node is ready in pool "${pool}" and the datacenters of the job`
  return seen === '' ? where : `${where}; there are nodes in ${seen}`
}

function nodeCounts(
  counts: Readonly<Record<string, number>> | null,
  describe: (name: string) => string,
): readonly string[] {
  return Object.entries(counts ?? {})
    .toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1))
    .map(([name, count]) => `${describe(name)} (${nodeCount(count)})`)
}

function nodeCount(count: number): string {
  return `${count} ${count === 1 ? 'node' : 'nodes'}`
}

/** A denial is reported until a later submission is accepted, at most for this long. */
const DENIAL_MS = 86_400_000

function denialFailures(
  verdicts: NonNullable<JobFailureRecords['verdicts']>,
  { SubmitTime, nowMs }: { readonly SubmitTime: number; readonly nowMs: number },
): readonly Failure[] {
  const [latest] = verdicts.toSorted((a, b) => b.Time - a.Time)
  if (latest === undefined || latest.Result !== 'denied' || latest.Time < SubmitTime) return []
  if (nowMs - latest.Time / NS_PER_MS > DENIAL_MS) return []
  const outcome = latest.Outcomes.find(({ Effect }) => Effect === 'denies')
  const finding = outcome?.Findings[0]?.Message ?? outcome?.Description ?? ''
  const policy = outcome === undefined ? 'a policy' : `policy "${outcome.Policy}"`
  const why = finding === '' ? '' : `: ${finding}`
  return [
    {
      Kind: 'denied',
      Text: truncate(`${policy} denied the last ${OPERATION_NOUNS[latest.Operation]}${why}`),
      AllocID: '',
      Task: '',
      Time: latest.Time,
      ExitCode: null,
      Count: 1,
    },
  ]
}

const OPERATION_NOUNS = {
  register: 'submission',
  scale: 'change of the count',
  dispatch: 'dispatch',
  revert: 'revert',
} as const satisfies Record<PolicyVerdict['Operation'], string>

/** Returns the failures of these allocations, the most frequent first. */
export function failuresOf(
  allocations: readonly FailedAllocation[],
  nowMs: number,
): readonly Failure[] {
  const found = new Map<string, Failure>()
  const newestFirst = allocations.toSorted((a, b) => b.ModifyTime - a.ModifyTime)
  for (const allocation of newestFirst) {
    const failure = failureOf(allocation, nowMs)
    if (failure === undefined) continue
    const key = JSON.stringify([failure.Kind, failure.Task, failure.Text])
    const earlier = found.get(key)
    found.set(key, earlier === undefined ? failure : { ...earlier, Count: earlier.Count + 1 })
  }
  return [...found.values()].toSorted((a, b) => b.Count - a.Count || b.Time - a.Time)
}

/** Returns why one allocation failed or keeps restarting; undefined if it does neither. */
export function failureOf(allocation: FailedAllocation, nowMs: number): Failure | undefined {
  const { ID, ClientStatus, ClientDescription, ModifyTime, DeploymentStatus } = allocation
  const about = { AllocID: ID, Count: 1 }
  if (ClientStatus === 'lost') {
    const Text = truncate(ClientDescription || 'its node was lost')
    return { ...about, Kind: 'lost', Text, Task: '', Time: ModifyTime, ExitCode: null }
  }
  const isUnhealthy = DeploymentStatus?.Healthy === false
  const waiting = waitingTemplate(allocation)
  if (waiting !== undefined) {
    const { task, event } = waiting
    if (!isUnhealthy && nowMs - event.Time / NS_PER_MS < TEMPLATE_WAIT_MS) return undefined
    const Text = truncate(`waiting for ${event.DisplayMessage.slice(MISSING_PREFIX.length)}`)
    return { ...about, Kind: 'template', Text, Task: task, Time: event.Time, ExitCode: null }
  }
  const [last] = failureEvents(allocation)
  if (last === undefined) return undefined
  const { task, event, kind } = last
  if (ClientStatus !== 'failed' && !isUnhealthy && !isRestarting(allocation, last, nowMs))
    return undefined
  return {
    ...about,
    Kind: kind,
    Text: truncate(describeEvent(event)),
    Task: task,
    Time: event.Time,
    ExitCode: event.Type === 'Terminated' ? event.ExitCode : null,
  }
}

/** A task that waits longer than this for the data of a template counts as failing. */
const TEMPLATE_WAIT_MS = 30_000

/** Prefix of the event in which the agent names the data that a template waits for. */
const MISSING_PREFIX = 'Missing: '

/** Returns the task that cannot start because data of its templates are missing. */
function waitingTemplate({ ClientStatus, TaskStates }: FailedAllocation) {
  if (ClientStatus !== 'running' && ClientStatus !== 'pending') return undefined
  for (const [task, { State, Events }] of Object.entries(TaskStates ?? {})) {
    if (State !== 'pending') continue
    const event = Events.findLast(({ Type: type }) => type !== 'Alloc Unhealthy')
    if (event?.Type === 'Template' && event.DisplayMessage.startsWith(MISSING_PREFIX))
      return { task, event }
  }
  return undefined
}

/**
 * A running task with this many restarts counts as failing until this long after its last failure.
 */
const UNSTABLE_MS = 600_000
const UNSTABLE_RESTARTS = 3

/**
 * Reports whether a task of the allocation restarts after a failure, or is likely to fail again.
 */
function isRestarting(
  { ClientStatus, TaskStates }: FailedAllocation,
  { event }: FailureEvent,
  nowMs: number,
): boolean {
  if (ClientStatus !== 'running' && ClientStatus !== 'pending') return false
  const isRecent = nowMs - event.Time / NS_PER_MS < UNSTABLE_MS
  return Object.values(TaskStates ?? {}).some(({ State, Restarts }) =>
    State === 'running' ? isRecent && Restarts >= UNSTABLE_RESTARTS : Restarts > 0,
  )
}

const NS_PER_MS = 1_000_000

interface FailureEvent {
  readonly task: string
  readonly event: TaskEvent
  readonly kind: FailureKind
}

/** Returns the events that explain a failure, the newest first. */
function failureEvents({ TaskStates }: FailedAllocation): readonly FailureEvent[] {
  const all = Object.entries(TaskStates ?? {})
    .flatMap(([task, { Events }]) =>
      Events.flatMap((event, index): readonly FailureEvent[] => {
        const kind = wasIntentional(Events, index) ? undefined : kindOf(event)
        return kind === undefined ? [] : [{ task, event, kind }]
      }),
    )
    .toSorted((a, b) => b.event.Time - a.event.Time)
  const causes = all.filter(({ event }) => !isMissedDeadline(event))
  return causes.length > 0 ? causes : all
}

/** Reports whether a deployment only waited in vain for the task: an earlier event says why. */
export function isMissedDeadline({
  Type,
  DisplayMessage = '',
}: Partial<Pick<TaskEvent, 'Type' | 'DisplayMessage'>>): boolean {
  return Type === 'Alloc Unhealthy' && DisplayMessage.startsWith(NOT_RUNNING_PREFIX)
}

/** Prefix of the event in which the agent reports a task that missed its health deadline. */
const NOT_RUNNING_PREFIX = 'Task not running'

/**
 * Reports whether an exit followed a kill or restart request, of a user or after a failed check.
 * The latest lifecycle event before the exit decides.
 */
function wasIntentional(events: readonly TaskEvent[], index: number): boolean {
  if (events[index]?.Type !== 'Terminated') return false
  const latest = events.slice(0, index).findLast((one) => LIFECYCLE_EVENTS.has(one.Type))
  return latest !== undefined && latest.Type !== 'Started'
}

const LIFECYCLE_EVENTS: ReadonlySet<string> = new Set(['Started', 'Restart Signaled', 'Killing'])

/** Prefix of the restart reason that the agent writes when a check fails. */
const CHECK_FAILED_PREFIX = 'healthcheck: '

/** Undefined for events that are part of normal operation. */
function kindOf(event: TaskEvent): FailureKind | undefined {
  if (event.Type === 'Template') return event.FailsTask ? 'template' : undefined
  if (event.Type === 'Restart Signaled')
    return event.RestartReason.startsWith(CHECK_FAILED_PREFIX) ? 'check' : undefined
  if (event.Type !== 'Terminated') return KINDS[event.Type]
  if (event.Details['oom_killed'] === 'true') return 'oom'
  return event.ExitCode === 0 && event.Signal === 0 ? undefined : 'exit'
}

function describeEvent(event: TaskEvent): string {
  if (event.Type === 'Restart Signaled')
    return event.RestartReason.slice(CHECK_FAILED_PREFIX.length)
  if (event.Type !== 'Terminated') return event.DisplayMessage || event.Type
  if (event.Details['oom_killed'] === 'true') return 'killed: it used more memory than its limit'
  const message = event.Message === '' ? '' : `: ${event.Message}`
  return event.Signal === 0
    ? `exited with code ${event.ExitCode}${message}`
    : `killed by signal ${event.Signal}${message}`
}

const KINDS: Readonly<Record<string, FailureKind>> = {
  'Driver Failure': 'driver',
  'Setup Failure': 'setup',
  'Failed Validation': 'setup',
  'Task hook failed': 'setup',
  'Disk Resources Exceeded': 'setup',
  'Failed Restoring Task': 'driver',
  'Failed Artifact Download': 'artifact',
  'Alloc Unhealthy': 'check',
}

function truncate(text: string): string {
  return text.length <= TEXT_LENGTH_MAX ? text : `${text.slice(0, TEXT_LENGTH_MAX - 1)}…`
}
