import type { Allocation, TaskEvent } from '@reeve/contract'
import type { Tone } from '../../parts/state.ts'

/** Something that happened to the allocation, in the order of time. */
export interface Moment {
  readonly key: string
  readonly timeNs: number
  readonly task: string
  readonly type: string
  readonly text: string
  readonly tone: Tone
}

const BAD: readonly string[] = [
  'Setup Failure',
  'Driver Failure',
  'Failed Validation',
  'Failed Artifact Download',
  'Sibling Task Failed',
  'Not Restarting',
  'Task hook failed',
  'Failed Restoring Task',
  'Disk Resources Exceeded',
  'Alloc Unhealthy',
  'Plugin became unhealthy',
]
const WARN: readonly string[] = [
  'Restarting',
  'Restart Signaled',
  'Killing',
  'Killed',
  'Signaling',
  'Pausing',
  'Leader Task Dead',
]
const GOOD: readonly string[] = ['Started', 'Running', 'Reconnected', 'Plugin became healthy']

/** The events of all tasks, the newest first: across tasks one often explains the other. */
export function momentsOf({ TaskStates }: Pick<Allocation, 'TaskStates'>): readonly Moment[] {
  const moments = Object.entries(TaskStates ?? {}).flatMap(([task, { Events }]) =>
    Events.map((event, index) => momentOf(event, { task, index })),
  )
  return moments.toSorted((a, b) => b.timeNs - a.timeNs || (a.key < b.key ? 1 : -1))
}

function momentOf(
  event: TaskEvent,
  { task, index }: { readonly task: string; readonly index: number },
): Moment {
  const { Type: type, Time: timeNs, DisplayMessage } = event
  return {
    // Events of one task may share a time: their place in the row keeps them apart and in order.
    key: `${task} ${timeNs} ${String(index).padStart(3, '0')}`,
    timeNs,
    task,
    type,
    text: DisplayMessage,
    tone: toneOf(event),
  }
}

function toneOf({ Type: type, FailsTask, ExitCode }: TaskEvent): Tone {
  if (FailsTask || BAD.includes(type)) return 'bad'
  if (type === 'Terminated') return ExitCode === 0 ? 'done' : 'bad'
  if (GOOD.includes(type)) return 'good'
  if (WARN.includes(type)) return 'warn'
  return 'idle'
}
