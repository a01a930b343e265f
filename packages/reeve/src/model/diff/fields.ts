import type { DiffType, FieldDiff } from '@reeve/contract'

/** Values by name; undefined or absent: there is none on this side. */
export type Values = ReadonlyMap<string, string>

/**
 * One field of the diff. An empty text counts as no value, unless the other side has not even that:
 * a key with an empty value came or went.
 */
export function fieldDiff(
  name: string,
  before: string | undefined,
  after: string | undefined,
): FieldDiff {
  const [Old, New] = [before ?? '', after ?? '']
  return { Type: typeOf(before, after), Name: name, Old, New, Annotations: null }
}

function typeOf(before: string | undefined, after: string | undefined): DiffType {
  if (before === after) return 'None'
  if (before === undefined || (before === '' && after !== undefined)) return 'Added'
  return after === undefined || after === '' ? 'Deleted' : 'Edited'
}

/** The fields of all names that either side has. */
export function valueDiffs(before: Values, after: Values): FieldDiff[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].map((name) => fieldDiff(name, before.get(name), after.get(name)))
}

/** Booleans as words, durations as nanoseconds, nothing as the empty text. */
export function textOf(value: unknown): string {
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

/** A path so long counts as one value more. */
const PATH_CHARS = 100

/**
 * Every leaf of a structure under its path: `command`, `args[0]`, `labels[team]`. An empty list or
 * map is a leaf, or it could come and go unseen. Undefined when there are more than `max`. Depth is
 * that of what was decoded (LIMITS.jsonDepthMax).
 */
export function leavesOf(value: unknown, max: number): Values | undefined {
  const leaves = new Map<string, string>()
  let cost = 0
  const collect = (inner: unknown, path: string): boolean => {
    const entries = typeof inner === 'object' && inner !== null ? Object.entries(inner) : []
    if (entries.length > 0)
      return entries.every(([key, leaf]) => collect(leaf, path === '' ? key : `${path}[${key}]`))
    cost += 1 + path.length / PATH_CHARS
    if (cost > max) return false
    leaves.set(path, leafText(inner))
    return true
  }
  if (isEmpty(value)) return leaves
  return collect(value, '') ? leaves : undefined
}

function leafText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return textOf(value)
  return Array.isArray(value) ? '[]' : '{}'
}

function isEmpty(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0
}

/** A collection as one value: undefined when there is nothing in it. */
export function wholeText(value: unknown): string | undefined {
  return isEmpty(value) ? undefined : JSON.stringify(value)
}
