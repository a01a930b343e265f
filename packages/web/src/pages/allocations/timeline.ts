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
  const placed = Object.entries(TaskStates ?? {}).flatMap(([task, { Events }]) => {
    // A process that ends at once has ended before its start is noted: the row knows the order.
    let latest = 0
    return Events.map((event, index) => {
      latest = Math.max(latest, event.Time)
      return { at: latest, moment: momentOf(event, { task, index }) }
    })
  })
  const newestFirst = placed.toSorted(
    (a, b) => b.at - a.at || (a.moment.key < b.moment.key ? 1 : -1),
  )
  return newestFirst.map(({ moment }) => moment)
}

function momentOf(
  event: TaskEvent,
  { task, index }: { readonly task: string; readonly index: number },
): Moment {
  const { Type: type, Time: timeNs, DisplayMessage } = event
  return {
    // Events of one task may share a time: their place in the row keeps them apart and in order.
    key: `${task} ${String(index).padStart(3, '0')} ${timeNs}`,
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
