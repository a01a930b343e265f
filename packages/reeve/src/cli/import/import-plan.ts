/** One object of an installation, such as a namespace, job or policy. */
export interface Item {
  /** `namespace`, `job`, `policy-set` … */
  readonly kind: string
  /** The name with its parent, such as `prod/api`. */
  readonly name: string
}

interface ImportAction<Write> extends Item {
  readonly do: 'create' | 'update'
  /** Additional text, such as `3 versions`. */
  readonly details?: string
  readonly write: Write
}

/** A field with different values at source and target. */
export interface Difference extends Item {
  readonly field: string
  readonly source: unknown
  readonly target: unknown
}

/** A part of the source that is not imported. */
export interface Omission extends Item {
  /** Absent if the whole object is omitted. */
  readonly field?: string
  readonly reason: string
}

/** The actions, differences and omissions of an import. */
export interface ImportPlan<Write> {
  /** In write order: later actions refer to earlier ones. */
  readonly actions: readonly ImportAction<Write>[]
  readonly unchanged: readonly Item[]
  readonly differences: readonly Difference[]
  readonly omissions: readonly Omission[]
  /** Values that cannot be read, or are specific to the source, and must be set by hand. */
  readonly secrets: readonly Omission[]
}

export type PartialPlan<Write> = Partial<ImportPlan<Write>>

export function mergePlans<Write>(parts: readonly PartialPlan<Write>[]): ImportPlan<Write> {
  return {
    actions: parts.flatMap(({ actions = [] }) => actions),
    unchanged: parts.flatMap(({ unchanged = [] }) => unchanged),
    differences: parts.flatMap(({ differences = [] }) => differences),
    omissions: parts.flatMap(({ omissions = [] }) => omissions),
    secrets: parts.flatMap(({ secrets = [] }) => secrets),
  }
}

export type Fields = Readonly<Record<string, unknown>>

/** Import rules of one kind of record. */
export interface RecordRules {
  readonly kind: string
  readonly importedFields: readonly string[]
  /** Fields without a meaning elsewhere: indexes, times, counts. */
  readonly ignoredFields: readonly string[]
  /** Specific reasons for omitted fields. */
  readonly reasons?: Readonly<Record<string, string>>
  /** Values of unsupported fields that equal the behavior of the target. */
  readonly defaults?: Readonly<Record<string, unknown>>
  /** The values are secret and must not be reported. */
  readonly isHidden?: boolean
}

interface RecordPair<Write> {
  readonly name: string
  readonly source: Fields
  readonly target: Fields | undefined
  /** Overwrite differing values. */
  readonly overwrite: boolean
  readonly write: Write
}

/** Compares a source record with its target and plans the action. */
export function planRecord<Write>(
  rules: RecordRules,
  { name, source, target, overwrite, write }: RecordPair<Write>,
): PartialPlan<Write> {
  const item = { kind: rules.kind, name }
  const omissions = omittedFields(rules, source).map((omitted) => ({ ...item, ...omitted }))
  if (target === undefined) return { actions: [{ ...item, do: 'create', write }], omissions }
  const differences = rules.importedFields
    .filter((field) => !isEquivalent(source[field], target[field]))
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
  { importedFields, ignoredFields, reasons = {}, defaults = {} }: RecordRules,
  source: Fields,
): readonly Pick<Omission, 'field' | 'reason'>[] {
  const known = new Set([...importedFields, ...ignoredFields])
  return Object.entries(source)
    .filter(([field, value]) => !known.has(field) && !isEmpty(value))
    .filter(([field, value]) => !isEquivalent(value, defaults[field]))
    .map(([field]) => ({ field, reason: reasons[field] ?? 'The target has no such field.' }))
}

/** Returns the non-empty imported fields; for empty ones the target uses its defaults. */
export function selectImportedFields({ importedFields }: RecordRules, source: Fields): Fields {
  const entries = importedFields.map((field) => [field, source[field]] as const)
  return Object.fromEntries(entries.filter(([, value]) => !isEmpty(value)))
}

/**
 * Installations represent "empty" differently: null, an empty text, list or object, false, or zero.
 */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === false || value === 0)
    return true
  return typeof value === 'object' && Object.values(value).every(isEmpty)
}

/** Compares two values, ignoring the order of members and representations of "empty". */
function isEquivalent(a: unknown, b: unknown): boolean {
  if (isEmpty(a) && isEmpty(b)) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => isEquivalent(Reflect.get(a, name), Reflect.get(b, name)))
}
