import type { TaskState } from '@reeve/contract'

/** When in the life of its group a task runs. */
export type Stage =
  | 'prestart'
  | 'prestart-sidecar'
  | 'main'
  | 'poststart'
  | 'poststart-sidecar'
  | 'poststop'

/** What the decision needs to know of one task. */
export interface TaskInGroup {
  readonly name: string
  readonly stage: Stage
  readonly leader: boolean
  readonly state: Pick<TaskState, 'State' | 'Failed'>
  /** Whether it was let through its gate; gates never close again. */
  readonly admitted: boolean
}

interface GroupDecision {
  /** Tasks that may begin now. */
  readonly admit: readonly string[]
  /** Everything that still lives, except poststop tasks, must end for this reason. */
  readonly end: EndReason | undefined
  /** Nothing of the group will run again. */
  readonly done: boolean
}

export type EndReason =
  | { readonly kind: 'leader-dead' }
  | { readonly kind: 'sibling-failed'; readonly sibling: string }
  | { readonly kind: 'main-dead' }

/** Decides again after each change of a task's state. */
export function decideGroup(tasks: readonly TaskInGroup[]): GroupDecision {
  const beforeStop = tasks.filter((task) => task.stage !== 'poststop')
  const over = beforeStop.every(isDead)
  const end = over ? undefined : reasonToEnd(beforeStop)
  const open = openStages(tasks, over)
  const admit = tasks.filter((task) => !task.admitted && !isDead(task) && open.has(task.stage))
  return {
    // A group that is being ended lets nobody in any more.
    admit: end === undefined ? admit.map((task) => task.name) : [],
    end,
    done: tasks.every(isDead),
  }
}

/** The leader's end comes before any other reason. */
function reasonToEnd(tasks: readonly TaskInGroup[]): EndReason | undefined {
  if (tasks.some((task) => task.leader && isDead(task))) return { kind: 'leader-dead' }
  const failed = tasks.find((task) => isDead(task) && task.state.Failed)
  if (failed !== undefined) return { kind: 'sibling-failed', sibling: failed.name }
  const living = tasks.filter((task) => !isDead(task))
  return living.every((task) => SIDECARS.has(task.stage)) ? { kind: 'main-dead' } : undefined
}

function openStages(tasks: readonly TaskInGroup[], over: boolean): ReadonlySet<Stage> {
  if (over) return new Set<Stage>(['poststop'])
  const open = new Set<Stage>(['prestart', 'prestart-sidecar'])
  const at = (stage: Stage) => tasks.filter((task) => task.stage === stage)
  const mains = at('main')
  const ready =
    at('prestart').every((task) => isDead(task) && !task.state.Failed) &&
    at('prestart-sidecar').every((task) => task.state.State === 'running')
  // A sidecar between two runs must not shut out what was let in before.
  if (!ready && !mains.some((task) => task.admitted)) return open
  open.add('main')
  if (mains.every((task) => task.state.State !== 'pending')) {
    open.add('poststart').add('poststart-sidecar')
  }
  return open
}

const SIDECARS: ReadonlySet<Stage> = new Set<Stage>(['prestart-sidecar', 'poststart-sidecar'])

export function isSidecar(stage: Stage): boolean {
  return SIDECARS.has(stage)
}

function isDead(task: TaskInGroup): boolean {
  return task.state.State === 'dead'
}

/** An unknown hook is refused by validation; here it counts as a main task. */
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
