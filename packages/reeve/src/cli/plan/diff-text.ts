import { formatDurationNs } from '@reeve/kit/duration.ts'
import type { FieldDiff, JobDiff, ObjectDiff, TaskDiff, TaskGroupDiff } from '@reeve/contract'
import type { Paint, Tone } from '../output/style.ts'

const MARKS: Readonly<Record<FieldDiff['Type'], readonly [mark: string, tone: Tone]>> = {
  Added: ['+  ', 'added'],
  Deleted: ['-  ', 'removed'],
  Edited: ['+/-', 'changed'],
  None: ['   ', 'dim'],
}
const STEP = '  '

interface DiffOptions {
  readonly paint: Paint
  /** Also the fields of what is new or gone, which are all of its fields. */
  readonly isVerbose: boolean
}

/** What changes in a job, one line for each field; what stays is left out. */
export function diffText(diff: JobDiff, { paint, isVerbose }: DiffOptions): string {
  const lines = [
    line(diff.Type, 0, `Job: "${diff.ID}"`),
    ...(isWhole(diff.Type) && !isVerbose ? [] : partLines(diff, 1)),
    ...(diff.TaskGroups ?? []).flatMap((group) => groupLines(group, isVerbose)),
  ]
  return lines
    .map(({ type, text, note }) => {
      const [mark, tone] = MARKS[type]
      const marked = paint(tone, `${mark} ${text}`)
      return `${note === '' ? marked : `${marked} ${paint('dim', `(${note})`)}`}\n`
    })
    .join('')
}

interface Line {
  readonly type: FieldDiff['Type']
  readonly text: string
  /** What the change brings with it. */
  readonly note: string
}

function line(type: Line['type'], depth: number, text: string): Line {
  return { type, text: `${STEP.repeat(depth)}${text}`, note: '' }
}

/** New or gone as a whole. */
function isWhole(type: Line['type']): boolean {
  return type === 'Added' || type === 'Deleted'
}

function groupLines(group: TaskGroupDiff, isVerbose: boolean): readonly Line[] {
  const updates = Object.entries(group.Updates ?? {}).filter(([, count]) => count > 0)
  const tasks = (group.Tasks ?? []).flatMap((task) => taskLines(task, isVerbose))
  const parts = isWhole(group.Type) && !isVerbose ? [] : partLines(group, 2)
  if (group.Type === 'None' && updates.length === 0 && parts.length + tasks.length === 0) return []
  const note = updates
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')
  return [{ ...line(group.Type, 1, `Group: "${group.Name}"`), note }, ...parts, ...tasks]
}

function taskLines(task: TaskDiff, isVerbose: boolean): readonly Line[] {
  const parts = isWhole(task.Type) && !isVerbose ? [] : partLines(task, 3)
  if (task.Type === 'None' && parts.length === 0) return []
  const note = (task.Annotations ?? []).join(', ')
  return [{ ...line(task.Type, 2, `Task: "${task.Name}"`), note }, ...parts]
}

interface Part {
  readonly Fields: readonly FieldDiff[] | null
  readonly Objects: readonly ObjectDiff[] | null
}

function partLines({ Fields, Objects }: Part, depth: number): readonly Line[] {
  const fields = (Fields ?? []).filter(({ Type }) => Type !== 'None')
  return [
    ...fields.map((field) => ({
      ...line(field.Type, depth, fieldText(field)),
      note: (field.Annotations ?? []).join(', '),
    })),
    ...(Objects ?? []).flatMap((object) => objectLines(object, depth)),
  ]
}

function objectLines(object: ObjectDiff, depth: number): readonly Line[] {
  const parts = partLines(object, depth + 1)
  if (parts.length === 0 && object.Type === 'None') return []
  return [line(object.Type, depth, object.Name), ...parts]
}

function fieldText({ Type, Name, Old, New }: FieldDiff): string {
  if (Type === 'Added') return `${Name}: ${shown(Name, New)}`
  if (Type === 'Deleted') return `${Name}: ${shown(Name, Old)}`
  return `${Name}: ${shown(Name, Old)} => ${shown(Name, New)}`
}

/** Fields that hold nanoseconds. */
const DURATIONS = /(?:Deadline|Delay|HealthyTime|Interval|Timeout|Wait|Splay)$/
const NS_SHOWN_MIN = 1_000_000

/** Texts of several lines (templates, scripts) stay on one, with their ends visible. */
function shown(name: string, text: string): string {
  const isLong = /^\d{7,18}$/.test(text) && Number(text) >= NS_SHOWN_MIN
  if (DURATIONS.test(name) && isLong) return `"${formatDurationNs(Number(text))}"`
  return JSON.stringify(text)
}
