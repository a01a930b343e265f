import type { ClientStatus, TaskState } from '@reeve/contract'
import { msFromNs, ZERO_TIME } from '@reeve/kit/duration.ts'
import { isBatchType } from '../../model/index.ts'
import type { Assignment } from '../assignment.ts'
import type { KillRequest } from '../task/task-control.ts'

/** Lifecycle stage of a task. */
export type Stage =
  | 'prestart'
  | 'prestart-sidecar'
  | 'main'
  | 'poststart'
  | 'poststart-sidecar'
  | 'poststop'

/** State of a task that the decision needs. */
export interface CoordinatedTask {
  readonly name: string
  readonly stage: Stage
  readonly isLeader: boolean
  readonly state: Pick<TaskState, 'State' | 'Failed'>
  /** Whether the task was allowed to start; this is never revoked. */
  readonly isAdmitted: boolean
}

interface GroupDecision {
  /** Tasks that may start now. */
  readonly admit: readonly string[]
  /** Reason to kill all live tasks except poststop tasks. */
  readonly killReason: GroupKillReason | undefined
  /** No task of the group will run again. */
  readonly isDone: boolean
}

export type GroupKillReason =
  | { readonly kind: 'leader-dead' }
  | { readonly kind: 'sibling-failed'; readonly sibling: string }
  | { readonly kind: 'main-dead' }

/** Decides after each change of a task's state. */
export function coordinateTasks(tasks: readonly CoordinatedTask[]): GroupDecision {
  const beforePoststop = tasks.filter((task) => task.stage !== 'poststop')
  const areAllDead = beforePoststop.every(isDead)
  const killReason = areAllDead ? undefined : groupKillReason(beforePoststop)
  const allowedStages = stagesAllowedToStart(tasks, areAllDead)
  const admit = tasks.filter(
    (task) => !task.isAdmitted && !isDead(task) && allowedStages.has(task.stage),
  )
  return {
    // No task is started in a group that is being stopped.
    admit: killReason === undefined ? admit.map((task) => task.name) : [],
    killReason,
    isDone: tasks.every(isDead),
  }
}

/** The end of the leader takes precedence over other reasons. */
function groupKillReason(tasks: readonly CoordinatedTask[]): GroupKillReason | undefined {
  if (tasks.some((task) => task.isLeader && isDead(task))) return { kind: 'leader-dead' }
  const failed = tasks.find((task) => isDead(task) && task.state.Failed)
  if (failed !== undefined) return { kind: 'sibling-failed', sibling: failed.name }
  const liveTasks = tasks.filter((task) => !isDead(task))
  return liveTasks.every((task) => SIDECARS.has(task.stage)) ? { kind: 'main-dead' } : undefined
}

function stagesAllowedToStart(
  tasks: readonly CoordinatedTask[],
  areAllDead: boolean,
): ReadonlySet<Stage> {
  if (areAllDead) return new Set<Stage>(['poststop'])
  const stages = new Set<Stage>(['prestart', 'prestart-sidecar'])
  const inStage = (stage: Stage) => tasks.filter((task) => task.stage === stage)
  const mainTasks = inStage('main')
  const arePrestartsDone =
    inStage('prestart').every((task) => isDead(task) && !task.state.Failed) &&
    inStage('prestart-sidecar').every((task) => task.state.State === 'running')
  // A sidecar that is restarting must not block tasks that were already allowed to start.
  if (!arePrestartsDone && !mainTasks.some((task) => task.isAdmitted)) return stages
  stages.add('main')
  if (mainTasks.every((task) => task.state.State !== 'pending')) {
    stages.add('poststart').add('poststart-sidecar')
  }
  return stages
}

const SIDECARS: ReadonlySet<Stage> = new Set<Stage>(['prestart-sidecar', 'poststart-sidecar'])

export function isSidecar(stage: Stage): boolean {
  return SIDECARS.has(stage)
}

function isDead(task: CoordinatedTask): boolean {
  return task.state.State === 'dead'
}

/** Groups the tasks in the order of their kill: the leader, the other tasks, the sidecars. */
export function inKillOrder<Task extends Pick<CoordinatedTask, 'stage' | 'isLeader'>>(
  tasks: readonly Task[],
): readonly (readonly Task[])[] {
  return [
    tasks.filter((task) => task.isLeader && !isSidecar(task.stage)),
    tasks.filter((task) => !task.isLeader && !isSidecar(task.stage)),
    tasks.filter((task) => isSidecar(task.stage)),
  ]
}

/** Cause that the events of the killed tasks name; none if the servers stop the allocation. */
export function killCauseOf(reason: GroupKillReason | undefined): Pick<KillRequest, 'cause'> {
  switch (reason?.kind) {
    case 'leader-dead':
      return { cause: { type: 'Leader Task Dead' } }
    case 'sibling-failed':
      return {
        cause: { type: 'Sibling Task Failed', fields: { FailedSibling: reason.sibling } },
      }
    case 'main-dead':
      return { cause: { type: 'Main Tasks Dead' } }
    case undefined:
      return {}
  }
}

/**
 * Time that `max_run_duration` leaves a batch allocation, counted from its creation; undefined if
 * its duration is not limited.
 */
export function remainingRunMs(
  { allocation, group, job }: Assignment,
  nowMs: number,
): number | undefined {
  const limitNs = group.MaxRunDuration ?? 0
  if (limitNs <= 0 || !isBatchType(job.Type)) return undefined
  const limitMs = msFromNs(limitNs)
  // The clocks of servers and nodes may differ: never wait longer than the whole duration.
  const remainingMs = Math.min(limitMs, msFromNs(allocation.CreateTime) + limitMs - nowMs)
  return Math.max(0, remainingMs)
}

/** Unknown hooks are rejected by validation and treated as main tasks here. */
export function stageOf(
  lifecycle: { readonly Hook: string; readonly Sidecar: boolean } | null,
): Stage {
  switch (lifecycle?.Hook) {
    case 'prestart':
      return lifecycle.Sidecar ? 'prestart-sidecar' : 'prestart'
    case 'poststart':
      return lifecycle.Sidecar ? 'poststart-sidecar' : 'poststart'
    case 'poststop':
      return 'poststop'
    default:
      return 'main'
  }
}

export interface AllocationStatus {
  readonly ClientStatus: ClientStatus
  readonly ClientDescription: string
}

const STATUS_DESCRIPTIONS = {
  pending: 'No tasks have started',
  running: 'Tasks are running',
  complete: 'All tasks have completed',
  failed: 'Failed tasks',
} as const
/** Description while tasks wait for a restart or for the next lifecycle stage. */
const NO_TASK_RUNNING = 'No tasks are running'

/** Derives the client status of an allocation from its tasks, in this order of precedence. */
export function clientStatusOf(
  states: Iterable<Pick<TaskState, 'State' | 'Failed' | 'StartedAt'>>,
): AllocationStatus {
  const tasks = [...states]
  const hasTaskIn = (state: TaskState['State']) => tasks.some((task) => task.State === state)
  const status = tasks.some((task) => task.State === 'dead' && task.Failed)
    ? 'failed'
    : hasTaskIn('running')
      ? 'running'
      : hasTaskIn('pending')
        ? 'pending'
        : 'complete'
  const hasStartedBefore =
    status === 'pending' && tasks.some((task) => task.StartedAt !== ZERO_TIME)
  return {
    ClientStatus: status,
    ClientDescription: hasStartedBefore ? NO_TASK_RUNNING : STATUS_DESCRIPTIONS[status],
  }
}
