import type { Allocation, AllocationStub } from './allocation.ts'
import type { Failure, FailureKind } from './failure.ts'
import type { Job } from './job.ts'
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
}

/** Returns the health of a job: the first rule that matches decides. */
export function jobHealth(facts: JobHealthFacts): JobHealth {
  const { job, isParent, wanted, counts, children, isDeploying, hasFailingChecks } = facts
  if (job.Stop) return 'stopped'
  if (isParent) return children !== null && children.Running > 0 ? 'running' : 'scheduled'
  const failed = counts.Failed + counts.Lost
  const hasEnded = job.Status === 'dead'
  if (hasEnded) return failed > 0 && counts.Complete < Math.max(1, wanted) ? 'failing' : 'complete'
  if (counts.Running === 0 && failed > 0 && !isRetried(counts)) return 'failing'
  if (isDeploying) return 'deploying'
  if (counts.Queued > 0) return 'blocked'
  if (counts.Starting > 0 || counts.Running === 0) return failed > 0 ? 'degraded' : 'pending'
  const isBatch = job.Type === 'batch' || job.Type === 'sysbatch'
  if (!isBatch && counts.Running < wanted) return 'degraded'
  return counts.Unknown > 0 || hasFailingChecks ? 'degraded' : 'running'
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

/** Returns the failures of allocations of the current version that have no replacement. */
export function failuresOfJob(
  { Stop, Version }: Pick<Job, 'Stop' | 'Version'>,
  allocations: readonly JobAllocation[],
  nowMs: number,
): readonly Failure[] {
  if (Stop) return []
  const replaced = new Set(allocations.map(({ PreviousAllocation }) => PreviousAllocation))
  const current = allocations.filter(
    ({ ID, JobVersion }) => JobVersion === Version && !replaced.has(ID),
  )
  return failuresOf(current, nowMs)
}

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
  return Object.entries(TaskStates ?? {})
    .flatMap(([task, { Events }]) =>
      Events.flatMap((event, index): readonly FailureEvent[] => {
        const kind = wasIntentional(Events, index) ? undefined : kindOf(event)
        return kind === undefined ? [] : [{ task, event, kind }]
      }),
    )
    .toSorted((a, b) => b.event.Time - a.event.Time)
}

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
