import type { Allocation, TaskEvent } from '@reeve/contract'
import type { Tone } from '../../components/status-badge.tsx'

/** An event of a task, as the timeline shows it. */
export interface TimelineEvent {
  readonly key: string
  readonly timeNs: number
  readonly task: string
  readonly type: string
  readonly text: string
  readonly tone: Tone
}

const FAILURE_EVENTS: readonly string[] = [
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
const WARNING_EVENTS: readonly string[] = [
  'Restarting',
  'Restart Signaled',
  'Killing',
  'Killed',
  'Signaling',
  'Pausing',
  'Leader Task Dead',
]
const SUCCESS_EVENTS: readonly string[] = [
  'Started',
  'Running',
  'Reconnected',
  'Plugin became healthy',
]

/** Returns the events of all tasks, newest first. */
export function timelineEvents({
  TaskStates,
}: Pick<Allocation, 'TaskStates'>): readonly TimelineEvent[] {
  const ordered = Object.entries(TaskStates ?? {}).flatMap(([task, { Events }]) => {
    // A process that exits at once may be reported before its start, so the list order counts.
    let latest = 0
    return Events.map((event, index) => {
      latest = Math.max(latest, event.Time)
      return { at: latest, moment: timelineEvent(event, { task, index }) }
    })
  })
  const newestFirst = ordered.toSorted(
    (a, b) => b.at - a.at || (a.moment.key < b.moment.key ? 1 : -1),
  )
  return newestFirst.map(({ moment: event }) => event)
}

function timelineEvent(
  taskEvent: TaskEvent,
  { task, index }: { readonly task: string; readonly index: number },
): TimelineEvent {
  const { Type: type, Time: timeNs, DisplayMessage } = taskEvent
  return {
    // Events of one task may share a time, so the index makes keys unique and ordered.
    key: `${task} ${String(index).padStart(3, '0')} ${timeNs}`,
    timeNs,
    task,
    type,
    text: DisplayMessage,
    tone: eventTone(taskEvent),
  }
}

function eventTone({ Type: type, FailsTask, ExitCode }: TaskEvent): Tone {
  if (FailsTask || FAILURE_EVENTS.includes(type)) return 'bad'
  if (type === 'Terminated') return ExitCode === 0 ? 'done' : 'bad'
  if (SUCCESS_EVENTS.includes(type)) return 'good'
  if (WARNING_EVENTS.includes(type)) return 'warn'
  return 'idle'
}
