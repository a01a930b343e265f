import type { FieldDiff, JobDiff, ObjectDiff, TaskDiff, TaskGroupDiff } from '@reeve/contract'
import type { Paint, Tone } from '../output/style.ts'

const MARKS: Readonly<Record<FieldDiff['Type'], readonly [mark: string, tone: Tone]>> = {
  Added: ['+  ', 'added'],
  Deleted: ['-  ', 'removed'],
  Edited: ['+/-', 'changed'],
  None: ['   ', 'dim'],
}
const STEP = '  '

/** What changes in a job, one line for each field; what stays is left out. */
export function diffText(diff: JobDiff, paint: Paint): string {
  const lines = [
    line(diff.Type, 0, `Job: "${diff.ID}"`),
    ...partLines(diff, 1),
    ...(diff.TaskGroups ?? []).flatMap(groupLines),
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

function line(type: Line['type'], depth: number, text: string, note = ''): Line {
  return { type, text: `${STEP.repeat(depth)}${text}`, note }
}

function groupLines(group: TaskGroupDiff): readonly Line[] {
  const updates = Object.entries(group.Updates ?? {}).filter(([, count]) => count > 0)
  const tasks = (group.Tasks ?? []).flatMap(taskLines)
  const parts = partLines(group, 2)
  if (group.Type === 'None' && updates.length === 0 && parts.length + tasks.length === 0) return []
  const note = updates
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')
  return [line(group.Type, 1, `Group: "${group.Name}"`, note), ...parts, ...tasks]
}

function taskLines(task: TaskDiff): readonly Line[] {
  const parts = partLines(task, 3)
  if (task.Type === 'None' && parts.length === 0) return []
  const note = (task.Annotations ?? []).join(', ')
  return [line(task.Type, 2, `Task: "${task.Name}"`, note), ...parts]
}

interface Part {
  readonly Fields: readonly FieldDiff[] | null
  readonly Objects: readonly ObjectDiff[] | null
}

function partLines({ Fields, Objects }: Part, depth: number): readonly Line[] {
  const fields = (Fields ?? []).filter(({ Type }) => Type !== 'None')
  return [
    ...fields.map((field) =>
      line(field.Type, depth, fieldText(field), (field.Annotations ?? []).join(', ')),
    ),
    ...(Objects ?? []).flatMap((object) => objectLines(object, depth)),
  ]
}

function objectLines(object: ObjectDiff, depth: number): readonly Line[] {
  const parts = partLines(object, depth + 1)
  if (parts.length === 0 && object.Type === 'None') return []
  return [line(object.Type, depth, object.Name), ...parts]
}

function fieldText({ Type, Name, Old, New }: FieldDiff): string {
  if (Type === 'Added') return `${Name}: ${quoted(New)}`
  if (Type === 'Deleted') return `${Name}: ${quoted(Old)}`
  return `${Name}: ${quoted(Old)} => ${quoted(New)}`
}

/** Texts of several lines (templates, scripts) stay on one, with their ends visible. */
function quoted(text: string): string {
  return JSON.stringify(text)
}
