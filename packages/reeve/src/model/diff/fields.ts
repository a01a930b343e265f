import type { DiffType, FieldDiff } from '@reeve/contract'

/** Values of one side by name. */
export type ValuesByName = ReadonlyMap<string, string>

/**
 * Creates the diff of one field. An empty string counts as no value, unless the other side is
 * absent: then a key with an empty value was added or removed.
 */
export function fieldDiff(
  name: string,
  before: string | undefined,
  after: string | undefined,
): FieldDiff {
  const [Old, New] = [before ?? '', after ?? '']
  return { Type: fieldDiffType(before, after), Name: name, Old, New, Annotations: null }
}

function fieldDiffType(before: string | undefined, after: string | undefined): DiffType {
  if (before === after) return 'None'
  if (before === undefined || (before === '' && after !== undefined)) return 'Added'
  return after === undefined || after === '' ? 'Deleted' : 'Edited'
}

/** Creates the field diffs of all names on either side. */
export function valueDiffs(before: ValuesByName, after: ValuesByName): FieldDiff[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].map((name) => fieldDiff(name, before.get(name), after.get(name)))
}

/** Formats a scalar: booleans as words, durations as nanoseconds, null as an empty string. */
export function scalarString(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value
    case 'number':
    case 'boolean':
      return String(value)
    default:
      return ''
  }
}

/** Path length that counts as one more value in the budget. */
const PATH_LENGTH_PER_VALUE = 100

/**
 * Returns all leaves of a structure by path: `command`, `args[0]`, `labels[team]`. Empty lists and
 * maps are leaves, so that adding one is visible. Undefined if there are more than `max`. The depth
 * is limited when values are decoded (LIMITS.jsonDepthMax).
 */
export function flattenLeaves(value: unknown, max: number): ValuesByName | undefined {
  const leaves = new Map<string, string>()
  let cost = 0
  const collect = (inner: unknown, path: string): boolean => {
    const entries = typeof inner === 'object' && inner !== null ? Object.entries(inner) : []
    if (entries.length > 0)
      return entries.every(([key, leaf]) => collect(leaf, path === '' ? key : `${path}[${key}]`))
    cost += 1 + path.length / PATH_LENGTH_PER_VALUE
    if (cost > max) return false
    leaves.set(path, leafString(inner))
    return true
  }
  if (isEmpty(value)) return leaves
  return collect(value, '') ? leaves : undefined
}

function leafString(value: unknown): string {
  if (typeof value !== 'object' || value === null) return scalarString(value)
  return Array.isArray(value) ? '[]' : '{}'
}

function isEmpty(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0
}

/** Formats a collection as JSON; undefined if it is empty. */
export function compactJson(value: unknown): string | undefined {
  return isEmpty(value) ? undefined : JSON.stringify(value)
}
