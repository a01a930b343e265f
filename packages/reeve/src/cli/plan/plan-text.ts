import { formatDurationNs } from '@reeve/kit/duration.ts'
import type {
  DesiredUpdates,
  FieldDiff,
  JobDiff,
  ObjectDiff,
  TaskDiff,
  TaskGroupDiff,
} from '@reeve/contract'
import type { Paint, TextStyle } from '../output/color.ts'

const DIFF_MARKS: Readonly<Record<FieldDiff['Type'], readonly [mark: string, tone: TextStyle]>> = {
  Added: ['+  ', 'added'],
  Deleted: ['-  ', 'removed'],
  Edited: ['+/-', 'changed'],
  None: ['   ', 'dim'],
}
const STEP = '  '

interface DiffOptions {
  readonly paint: Paint
  /** Also print the fields of added and deleted objects. */
  readonly isVerbose: boolean
}

/** Formats the changes of a job, one line per field; unchanged fields are omitted. */
export function formatDiff(diff: JobDiff, { paint, isVerbose }: DiffOptions): string {
  const lines = [
    diffLine(diff.Type, 0, `Job: "${diff.ID}"`),
    ...(isAddedOrDeleted(diff.Type) && !isVerbose ? [] : diffLines(diff, 1)),
    ...(diff.TaskGroups ?? []).flatMap((group) => groupLines(group, isVerbose)),
  ]
  return lines
    .map(({ type, text, note }) => {
      const [mark, tone] = DIFF_MARKS[type]
      const marked = paint(tone, `${mark} ${text}`)
      return `${note === '' ? marked : `${marked} ${paint('dim', `(${note})`)}`}\n`
    })
    .join('')
}

interface Line {
  readonly type: FieldDiff['Type']
  readonly text: string
  /** The effect of the change, such as a restart. */
  readonly note: string
}

function diffLine(type: Line['type'], depth: number, text: string): Line {
  return { type, text: `${STEP.repeat(depth)}${text}`, note: '' }
}

/** Whether an object is added or deleted as a whole. */
function isAddedOrDeleted(type: Line['type']): boolean {
  return type === 'Added' || type === 'Deleted'
}

function groupLines(group: TaskGroupDiff, isVerbose: boolean): readonly Line[] {
  const updates = Object.entries(group.Updates ?? {}).filter(([, count]) => count > 0)
  const tasks = (group.Tasks ?? []).flatMap((task) => taskLines(task, isVerbose))
  const parts = isAddedOrDeleted(group.Type) && !isVerbose ? [] : diffLines(group, 2)
  if (group.Type === 'None' && updates.length === 0 && parts.length + tasks.length === 0) return []
  const note = updates
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([what, count]) => `${count} ${what}`)
    .join(', ')
  return [{ ...diffLine(group.Type, 1, `Group: "${group.Name}"`), note }, ...parts, ...tasks]
}

function taskLines(task: TaskDiff, isVerbose: boolean): readonly Line[] {
  const parts = isAddedOrDeleted(task.Type) && !isVerbose ? [] : diffLines(task, 3)
  if (task.Type === 'None' && parts.length === 0) return []
  const note = (task.Annotations ?? []).join(', ')
  return [{ ...diffLine(task.Type, 2, `Task: "${task.Name}"`), note }, ...parts]
}

interface DiffNode {
  readonly Fields: readonly FieldDiff[] | null
  readonly Objects: readonly ObjectDiff[] | null
}

function diffLines({ Fields, Objects }: DiffNode, depth: number): readonly Line[] {
  const fields = (Fields ?? []).filter(({ Type }) => Type !== 'None')
  return [
    ...fields.map((field) => ({
      ...diffLine(field.Type, depth, fieldText(field)),
      note: (field.Annotations ?? []).join(', '),
    })),
    ...(Objects ?? []).flatMap((object) => objectLines(object, depth)),
  ]
}

function objectLines(object: ObjectDiff, depth: number): readonly Line[] {
  const parts = diffLines(object, depth + 1)
  if (parts.length === 0 && object.Type === 'None') return []
  return [diffLine(object.Type, depth, object.Name), ...parts]
}

function fieldText({ Type, Name, Old, New }: FieldDiff): string {
  if (Type === 'Added') return `${Name}: ${formatValue(Name, New)}`
  if (Type === 'Deleted') return `${Name}: ${formatValue(Name, Old)}`
  return `${Name}: ${formatValue(Name, Old)} => ${formatValue(Name, New)}`
}

/** Fields that hold nanoseconds. */
const DURATION_FIELD = /(?:Deadline|Delay|HealthyTime|Interval|Timeout|Wait|Splay)$/
const NS_SHOWN_MIN = 1_000_000

/** Formats a value; multi-line texts are quoted on one line. */
function formatValue(name: string, text: string): string {
  const isLong = /^\d{7,18}$/.test(text) && Number(text) >= NS_SHOWN_MIN
  if (DURATION_FIELD.test(name) && isLong) return `"${formatDurationNs(Number(text))}"`
  return JSON.stringify(text)
}

/** Texts for the updates of a group, ordered by importance. */
const UPDATE_TEXTS: readonly (readonly [
  field: keyof DesiredUpdates,
  word: string,
  tone: TextStyle,
])[] = [
  ['Place', 'started', 'added'],
  ['Canary', 'started as canaries', 'added'],
  ['DestructiveUpdate', 'replaced', 'changed'],
  ['InPlaceUpdate', 'updated in place', 'changed'],
  ['Migrate', 'moved to another node', 'changed'],
  ['RescheduleNow', 'started again elsewhere', 'changed'],
  ['RescheduleLater', 'started again elsewhere, later', 'changed'],
  ['Disconnect', 'waited for, as their node is away', 'changed'],
  ['Reconnect', 'taken back', 'changed'],
  ['Stop', 'stopped', 'removed'],
  ['Preemptions', 'of other jobs displaced', 'removed'],
  ['Ignore', 'unchanged', 'dim'],
]

interface UpdatesOptions {
  readonly paint: Paint
  /** Placement failures, which are reported separately. */
  readonly unplaced: number
}

/** Formats the updates of a group; empty if all of its allocations fail to be placed. */
export function formatUpdates(
  name: string,
  updates: DesiredUpdates,
  { paint, unplaced }: UpdatesOptions,
): readonly string[] {
  const placed = subtractUnplaced(updates, unplaced)
  const parts = UPDATE_TEXTS.filter(([field]) => placed[field] > 0).map(([field, word, tone]) =>
    paint(tone, `${placed[field]} ${word}`),
  )
  if (parts.length === 0 && unplaced > 0) return []
  return [`Group "${name}": ${parts.length === 0 ? 'nothing to do' : parts.join(', ')}.`]
}

/** Fields that include placement failures, in the order in which they are subtracted. */
const PLACEMENT_FIELDS = ['Place', 'Canary', 'Migrate', 'DestructiveUpdate'] as const

/** Subtracts placement failures: the API counts all intended placements. */
function subtractUnplaced(updates: DesiredUpdates, unplaced: number): DesiredUpdates {
  const placed = { ...updates }
  let remaining = unplaced
  for (const field of PLACEMENT_FIELDS) {
    const subtracted = Math.min(remaining, updates[field])
    placed[field] -= subtracted
    remaining -= subtracted
  }
  // Reschedules are included in the placements.
  return { ...placed, RescheduleNow: Math.min(placed.Place, placed.RescheduleNow) }
}

/** Whether there are updates besides ignored allocations. */
export function hasUpdates(updates: DesiredUpdates): boolean {
  return UPDATE_TEXTS.some(([field]) => field !== 'Ignore' && updates[field] > 0)
}
