import {
  isPlainObject,
  objectAt,
  objectsIn,
  textAt,
  valueText,
  type PlainObject,
} from './plain-value.ts'

/** Changes of a plan: of resources, of what has changed outside of runs, and of outputs. */
export interface PlanChanges {
  readonly resources: readonly PlannedChange[]
  readonly drift: readonly PlannedChange[]
  readonly outputs: readonly PlannedChange[]
}

export type PlannedAction =
  | 'create'
  | 'update'
  | 'delete'
  | 'replace'
  | 'create-first'
  | 'forget'
  | 'import'

/** One resource, or one output. */
export interface PlannedChange {
  /** Address of the resource, or name of the output. */
  readonly name: string
  readonly action: PlannedAction
  readonly isImported: boolean
  readonly attributes: readonly PlannedAttribute[]
  /** Both sides of an output, which has no attributes; empty for a resource. */
  readonly text: string
}

/** An attribute that differs; the texts of sensitive ones are hidden. */
export interface PlannedAttribute {
  readonly name: string
  /** Both sides, or the new one alone. */
  readonly text: string
}

/** Returns what the JSON export of a plan changes; changes without effect are left out. */
export function readPlanChanges(plan: PlainObject): PlanChanges {
  return {
    resources: objectsIn(plan['resource_changes']).flatMap(resourceChange),
    drift: objectsIn(plan['resource_drift']).flatMap(resourceChange),
    outputs: Object.entries(objectAt(plan, 'output_changes')).flatMap(([name, change]) => {
      const plannedChange = isPlainObject(change) ? changeOf(name, change) : undefined
      if (plannedChange === undefined || !isPlainObject(change)) return []
      return [{ ...plannedChange, attributes: [], text: formatSides(readSides(change)) }]
    }),
  }
}

function resourceChange(resource: PlainObject): readonly PlannedChange[] {
  const change = changeOf(textAt(resource, 'address'), objectAt(resource, 'change'))
  return change === undefined ? [] : [change]
}

const ACTIONS: Readonly<Record<string, PlannedAction>> = {
  create: 'create',
  update: 'update',
  delete: 'delete',
  'delete,create': 'replace',
  'create,delete': 'create-first',
  forget: 'forget',
}

/** Returns undefined for a change without effect. */
function changeOf(name: string, change: PlainObject): PlannedChange | undefined {
  const actions = Array.isArray(change['actions']) ? change['actions'].join(',') : ''
  const isImported = isPlainObject(change['importing'])
  const action = ACTIONS[actions] ?? (isImported ? 'import' : undefined)
  if (action === undefined) return undefined
  return { name, action, isImported, attributes: attributesOf(change), text: '' }
}

/** The two sides of a change, or of one attribute in it. */
interface Sides {
  readonly before: unknown
  readonly after: unknown
  readonly isUnknown: boolean
  readonly isSensitive: boolean
}

function readSides(change: PlainObject): Sides {
  return {
    before: change['before'],
    after: change['after'],
    isUnknown: change['after_unknown'] === true,
    isSensitive: change['before_sensitive'] === true || change['after_sensitive'] === true,
  }
}

/** The attributes that differ, by name. */
function attributesOf(change: PlainObject): readonly PlannedAttribute[] {
  const [before, after] = [objectAt(change, 'before'), objectAt(change, 'after')]
  const unknown = objectAt(change, 'after_unknown')
  const names = new Set([before, after, unknown].flatMap((object) => Object.keys(object)))
  const sensitive = [objectAt(change, 'before_sensitive'), objectAt(change, 'after_sensitive')]
  return [...names].toSorted().flatMap((name) => {
    const sides: Sides = {
      before: before[name],
      after: after[name],
      isUnknown: isMarked(unknown[name]),
      isSensitive: sensitive.some((marks) => isMarked(marks[name])),
    }
    const isEqual = JSON.stringify(sides.before) === JSON.stringify(sides.after)
    if (isEqual && !sides.isUnknown && !sides.isSensitive) return []
    return [{ name, text: formatSides(sides) }]
  })
}

/** Marks have the form of the value: `true` at any depth counts. */
function isMarked(mark: unknown): boolean {
  if (Array.isArray(mark)) return mark.some(isMarked)
  return mark === true || (isPlainObject(mark) && Object.values(mark).some(isMarked))
}

function formatSides({ before, after, isUnknown, isSensitive }: Sides): string {
  if (isSensitive) return '(sensitive)'
  const next = isUnknown ? '(known after apply)' : valueText(after)
  if (before === undefined || before === null) return next
  return after === undefined && !isUnknown
    ? `${valueText(before)} -> null`
    : `${valueText(before)} -> ${next}`
}
