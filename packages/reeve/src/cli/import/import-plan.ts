/** One thing of an installation: a namespace, a job, a policy. */
export interface Item {
  /** `namespace`, `job`, `policy-set` … */
  readonly kind: string
  /** With what it belongs to: `prod/api`. */
  readonly name: string
}

export interface ImportAction<Write> extends Item {
  readonly do: 'create' | 'update'
  /** More for people, such as `3 versions`. */
  readonly note?: string
  readonly write: Write
}

/** Both installations have it, with other values. */
export interface Difference extends Item {
  readonly field: string
  readonly source: unknown
  readonly target: unknown
}

/** Something of the source that the target will not have. */
export interface Omission extends Item {
  /** Absent: all of it. */
  readonly field?: string
  readonly reason: string
}

/** What an import does, what it leaves as it is, and what it cannot carry over. */
export interface ImportPlan<Write> {
  /** In the order in which they are written: later ones refer to earlier ones. */
  readonly actions: readonly ImportAction<Write>[]
  readonly unchanged: readonly Item[]
  readonly differences: readonly Difference[]
  readonly omissions: readonly Omission[]
  /** Their values cannot be read, or mean nothing elsewhere: somebody has to set them. */
  readonly secrets: readonly Omission[]
}

export type PlanPart<Write> = Partial<ImportPlan<Write>>

export function joinParts<Write>(parts: readonly PlanPart<Write>[]): ImportPlan<Write> {
  return {
    actions: parts.flatMap(({ actions = [] }) => actions),
    unchanged: parts.flatMap(({ unchanged = [] }) => unchanged),
    differences: parts.flatMap(({ differences = [] }) => differences),
    omissions: parts.flatMap(({ omissions = [] }) => omissions),
    secrets: parts.flatMap(({ secrets = [] }) => secrets),
  }
}

export type Fields = Readonly<Record<string, unknown>>

/** How records of one kind are carried over. */
export interface RecordRules {
  readonly kind: string
  readonly carried: readonly string[]
  /** Means nothing at another installation: indexes, times, counts. */
  readonly bookkeeping: readonly string[]
  /** Why a field that is neither is not carried over, where more can be said than that. */
  readonly reasons?: Readonly<Record<string, string>>
  /** Values of fields that the target does not have, where they say what the target does anyway. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** Values that a report must not show. */
  readonly isHidden?: boolean
}

interface RecordPair<Write> {
  readonly name: string
  readonly source: Fields
  readonly target: Fields | undefined
  /** Whether what differs is written over. */
  readonly overwrite: boolean
  readonly write: Write
}

/** Compares one record of both installations. */
export function planRecord<Write>(
  rules: RecordRules,
  { name, source, target, overwrite, write }: RecordPair<Write>,
): PlanPart<Write> {
  const item = { kind: rules.kind, name }
  const omissions = omittedFields(rules, source).map((omitted) => ({ ...item, ...omitted }))
  if (target === undefined) return { actions: [{ ...item, do: 'create', write }], omissions }
  const differences = rules.carried
    .filter((field) => !isSame(source[field], target[field]))
    .map((field) => ({
      ...item,
      field,
      source: rules.isHidden === true ? HIDDEN : source[field],
      target: rules.isHidden === true ? HIDDEN : target[field],
    }))
  if (differences.length === 0) return { unchanged: [item], omissions }
  const actions = overwrite ? [{ ...item, do: 'update', write } as const] : []
  return { actions, differences, omissions }
}

const HIDDEN = '(hidden)'

function omittedFields(
  { carried, bookkeeping, reasons = {}, defaults = {} }: RecordRules,
  source: Fields,
): readonly Pick<Omission, 'field' | 'reason'>[] {
  const known = new Set([...carried, ...bookkeeping])
  return Object.entries(source)
    .filter(([field, value]) => !known.has(field) && !isEmpty(value))
    .filter(([field, value]) => !isSame(value, defaults[field]))
    .map(([field]) => ({ field, reason: reasons[field] ?? 'The target has no such field.' }))
}

/** The fields that a kind carries over, without the empty ones: those get the target's defaults. */
export function carriedFields({ carried }: RecordRules, source: Fields): Fields {
  const entries = carried.map((field) => [field, source[field]] as const)
  return Object.fromEntries(entries.filter(([, value]) => !isEmpty(value)))
}

/** Installations differ in how they say "nothing": null, an empty text, list or object, or zero. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0)
    return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}

/** Whether two values mean the same, whatever the order of their members. */
function isSame(a: unknown, b: unknown): boolean {
  if (isEmpty(a) && isEmpty(b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => isSame(Reflect.get(a, name), Reflect.get(b, name)))
}
