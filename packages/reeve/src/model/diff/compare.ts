import type { DiffType, FieldDiff, ObjectDiff } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isEqual } from '../deep-equal.ts'
import { LIMITS } from '../limits.ts'
import type { ObjectsRule, Rules, TextsRule } from './rules.ts'

/** Differences between two records of one type, each part in its order. */
export interface DiffParts {
  readonly fields: readonly FieldDiff[]
  readonly objects: readonly ObjectDiff[]
}

/** The two sides of a comparison; an absent one is undefined. */
export interface BeforeAfter<T> {
  readonly before: T | undefined
  readonly after: T | undefined
}

/** Compares two records by the rules of their type. Equal fields are listed as `None`. */
export function compareRecords(
  rules: Rules,
  { before, after }: BeforeAfter<object>,
  detail: DiffBudget,
): DiffParts {
  const fields: FieldDiff[] = []
  const objects: ObjectDiff[] = []
  for (const [name, rule] of Object.entries(rules)) {
    if (rule === 'unseen' || rule === 'nested') continue
    const sides = { before: propertyOf(before, name), after: propertyOf(after, name) }
    if (rule === 'field')
      fields.push(fieldDiff(name, scalarString(sides.before), scalarString(sides.after)))
    else if (rule === 'entries') fields.push(...mapDiffs(name, sides, detail))
    else if (rule.kind === 'texts') objects.push(...stringsDiff(name, rule, { sides, detail }))
    else if (rule.kind === 'tree') objects.push(...treeDiff(name, sides, detail))
    else if (rule.kind === 'objects') objects.push(...objectDiffs(rule, sides, detail))
    else objects.push(...objectDiff(name, rule.rules, { sides: recordsOf(sides), detail }))
  }
  return { fields: fields.toSorted(compareFields), objects: objects.toSorted(compareObjects) }
}

export function hasChanges({ Type }: { readonly Type: DiffType }): boolean {
  return Type !== 'None'
}

/** Returns the change type of a whole object. */
export function diffTypeOf({ before, after }: BeforeAfter<unknown>, isChanged: boolean): DiffType {
  if (before === undefined && after === undefined) return 'None'
  if (before === undefined) return 'Added'
  if (after === undefined) return 'Deleted'
  return isChanged ? 'Edited' : 'None'
}

/** Returns null for an empty list. */
export function listOrNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list
}

interface Comparison<T> {
  readonly sides: BeforeAfter<T>
  readonly detail: DiffBudget
}

function objectDiff(
  name: string,
  rules: Rules,
  { sides, detail }: Comparison<object>,
): readonly ObjectDiff[] {
  if (isEqual(sides.before, sides.after)) return []
  if (!detail.tryTake(Object.keys(rules).length))
    return [{ Type: diffTypeOf(sides, true), Name: name, Fields: null, Objects: null }]
  return objectDiffOrNone(name, sides, { ...compareRecords(rules, sides, detail), detail })
}

/** Returns the object diff; nothing if it has no change. */
function objectDiffOrNone(
  Name: string,
  sides: BeforeAfter<unknown>,
  { fields, objects, detail }: DiffParts & { readonly detail: DiffBudget },
): readonly ObjectDiff[] {
  const Type = diffTypeOf(sides, fields.some(hasChanges) || objects.some(hasChanges))
  if (Type === 'None') return []
  const listedFields = detail.includeUnchanged ? fields : fields.filter(hasChanges)
  return [{ Type, Name, Fields: listOrNull(listedFields), Objects: listOrNull(objects) }]
}

function objectDiffs(
  { name, rules, keyOf }: ObjectsRule,
  { before, after }: BeforeAfter<unknown>,
  detail: DiffBudget,
): readonly ObjectDiff[] {
  if (isEqual(before, after)) return []
  return matchByKey(membersOf(before), membersOf(after), keyOf).flatMap(([old, next]) =>
    objectDiff(name, rules, { sides: { before: old, after: next }, detail }),
  )
}

/** Returns the diff of a string map, which is part of its record: a field per key. */
function mapDiffs(
  name: string,
  { before, after }: BeforeAfter<unknown>,
  detail: DiffBudget,
): readonly FieldDiff[] {
  const [old, next] = [entriesOf(before), entriesOf(after)]
  if (!detail.tryTake(old.length + next.length))
    return [fieldDiff(name, compactJson(before), compactJson(after))]
  return valueDiffs(entryValues(name, old), entryValues(name, next))
}

function entryValues(name: string, entries: readonly (readonly [string, unknown])[]): ValuesByName {
  return new Map(entries.map(([key, value]) => [`${name}[${key}]`, scalarString(value)]))
}

function treeDiff(
  name: string,
  { before, after }: BeforeAfter<unknown>,
  detail: DiffBudget,
): readonly ObjectDiff[] {
  if (isEqual(before, after)) return []
  const old = flattenLeaves(before, detail.remaining())
  const next = flattenLeaves(after, detail.remaining())
  const isWithinBudget =
    old !== undefined && next !== undefined && detail.tryTake(old.size + next.size)
  const fields = isWithinBudget
    ? valueDiffs(old, next).toSorted(compareFields)
    : [fieldDiff(name, compactJson(before), compactJson(after))]
  const sides = { before: nonEmptyCollection(before), after: nonEmptyCollection(after) }
  return objectDiffOrNone(name, sides, { fields, objects: [], detail })
}

/** Returns the diff of a list of texts: an object whose fields all have the name of the list. */
function stringsDiff(
  name: string,
  rule: TextsRule,
  { sides, detail }: Comparison<unknown>,
): readonly ObjectDiff[] {
  if (isEqual(sides.before, sides.after)) return []
  const [before, after] = [stringsOf(sides.before), stringsOf(sides.after)]
  const fields = detail.tryTake(before.length + after.length)
    ? stringDiffs(name, rule, [before, after])
    : [fieldDiff(name, compactJson(before), compactJson(after))]
  const collections = { before: nonEmptyCollection(before), after: nonEmptyCollection(after) }
  return objectDiffOrNone(name, collections, { fields, objects: [], detail })
}

/** Returns the collection; undefined if it is empty. */
function nonEmptyCollection(collection: unknown): object | undefined {
  const record = recordOf(collection)
  return record === undefined || Object.keys(record).length === 0 ? undefined : record
}

function stringDiffs(
  name: string,
  { ordered }: TextsRule,
  [before, after]: readonly [readonly string[], readonly string[]],
): readonly FieldDiff[] {
  const members = memberDiffs(name, new Set(before), new Set(after))
  const isReordered = ordered && !members.some(hasChanges)
  return (isReordered ? positionDiffs(name, before, after) : members).toSorted(compareFields)
}

function memberDiffs(
  name: string,
  before: ReadonlySet<string>,
  after: ReadonlySet<string>,
): readonly FieldDiff[] {
  const side = (texts: ReadonlySet<string>, text: string): string | undefined =>
    texts.has(text) ? text : undefined
  return [...new Set([...before, ...after])].map((text) =>
    fieldDiff(name, side(before, text), side(after, text)),
  )
}

/** Compares the positions of equal texts. */
function positionDiffs(
  name: string,
  before: readonly string[],
  after: readonly string[],
): readonly FieldDiff[] {
  const length = Math.max(before.length, after.length)
  return Array.from({ length }, (_none, i) => fieldDiff(name, before[i], after[i]))
}

function propertyOf(record: object | undefined, name: string): unknown {
  return record === undefined ? undefined : Reflect.get(record, name)
}

function entriesOf(map: unknown): readonly (readonly [string, unknown])[] {
  return Object.entries(recordOf(map) ?? {})
}

function recordOf(value: unknown): object | undefined {
  return typeof value === 'object' && value !== null ? value : undefined
}

function recordsOf({ before, after }: BeforeAfter<unknown>): BeforeAfter<object> {
  return { before: recordOf(before), after: recordOf(after) }
}

/** Returns the members of a list, or of a map whose members contain their name. */
function membersOf(collection: unknown): readonly object[] {
  const members: readonly unknown[] = Object.values(recordOf(collection) ?? {})
  return members.filter((member) => typeof member === 'object' && member !== null)
}

function stringsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(scalarString) : []
}

/** Values of one side by name. */
type ValuesByName = ReadonlyMap<string, string>

/**
 * Creates the diff of one field. An empty string counts as no value, unless the other side is
 * absent: then a key with an empty value was added or removed.
 */
function fieldDiff(name: string, before: string | undefined, after: string | undefined): FieldDiff {
  const [Old, New] = [before ?? '', after ?? '']
  return { Type: fieldDiffType(before, after), Name: name, Old, New, Annotations: null }
}

function fieldDiffType(before: string | undefined, after: string | undefined): DiffType {
  if (before === after) return 'None'
  if (before === undefined || (before === '' && after !== undefined)) return 'Added'
  return after === undefined || after === '' ? 'Deleted' : 'Edited'
}

/** Creates the field diffs of all names on either side. */
function valueDiffs(before: ValuesByName, after: ValuesByName): FieldDiff[] {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].map((name) => fieldDiff(name, before.get(name), after.get(name)))
}

/** Formats a scalar: booleans as words, durations as nanoseconds, null as an empty string. */
function scalarString(value: unknown): string {
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
function flattenLeaves(value: unknown, max: number): ValuesByName | undefined {
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
function compactJson(value: unknown): string | undefined {
  return isEmpty(value) ? undefined : JSON.stringify(value)
}

/** An object before and after; an absent side is undefined. */
type Pair = readonly [before: object | undefined, after: object | undefined]

/**
 * Pairs the members of two collections by key. If several have the same key, equal ones are paired
 * first and the others in the order of their content, so that the order in the source does not
 * matter.
 */
function matchByKey(
  before: readonly object[],
  after: readonly object[],
  keyOf: (entry: object) => string,
): readonly Pair[] {
  const olds = Map.groupBy(before, keyOf)
  const news = Map.groupBy(after, keyOf)
  const keys = new Set([...olds.keys(), ...news.keys()])
  return [...keys].flatMap((key) => matchSameKey(olds.get(key) ?? [], news.get(key) ?? []))
}

function matchSameKey(olds: readonly object[], news: readonly object[]): readonly Pair[] {
  if (olds.length <= 1 && news.length <= 1) return [[olds[0], news[0]]]
  const [left, right] = [sortByContent(olds), sortByContent(news)]
  // Texts on both sides are unchanged; the others keep their order.
  const oldRest = withoutEqual(left, right)
  const newRest = withoutEqual(right, left)
  const length = Math.max(oldRest.length, newRest.length)
  return Array.from({ length }, (_none, i): Pair => [oldRest[i]?.entry, newRest[i]?.entry])
}

interface SerializedEntry {
  readonly entry: object
  readonly text: string
}

/**
 * Maximum number of entries with one key that are sorted by content regardless of order within;
 * larger groups are paired less precisely.
 */
const SAME_KEY_MAX = 100

function sortByContent(entries: readonly object[]): readonly SerializedEntry[] {
  const orderOf = entries.length > SAME_KEY_MAX ? () => '' : orderIndependentText
  return entries
    .map((entry) => ({ entry, text: JSON.stringify(entry), order: orderOf(entry) }))
    .toSorted((a, b) => compareText(a.order, b.order) || compareText(a.text, b.text))
}

/** Returns a text that is independent of the order of lists and keys. */
function orderIndependentText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const parts = Object.entries(value).map(([key, inner]) =>
    isList ? orderIndependentText(inner) : `${JSON.stringify(key)}:${orderIndependentText(inner)}`,
  )
  return `[${parts.toSorted(compareText).join()}]`
}

/** Removes the texts that occur in the other list, each as often as it occurs there. */
function withoutEqual(
  entries: readonly SerializedEntry[],
  others: readonly SerializedEntry[],
): readonly SerializedEntry[] {
  const counts = new Map<string, number>()
  for (const { text } of others) counts.set(text, (counts.get(text) ?? 0) + 1)
  return entries.filter(({ text }) => {
    const count = counts.get(text) ?? 0
    if (count > 0) counts.set(text, count - 1)
    return count === 0
  })
}

/** Sort order of diff types; diffs do not depend on the order of the input. */
const TYPE_RANK: Readonly<Record<DiffType, number>> = { Edited: 0, Added: 1, Deleted: 2, None: 3 }

export function compareFields(a: FieldDiff, b: FieldDiff): number {
  return compareText(a.Name, b.Name) || compareText(a.Old, b.Old) || compareText(a.New, b.New)
}

export function compareObjects(a: ObjectDiff, b: ObjectDiff): number {
  return (
    compareText(a.Name, b.Name) ||
    TYPE_RANK[a.Type] - TYPE_RANK[b.Type] ||
    compareLists(a.Fields ?? [], b.Fields ?? [], compareFields) ||
    compareLists(a.Objects ?? [], b.Objects ?? [], compareObjects)
  )
}

/** Compares by length, then by the first different element. */
function compareLists<T>(
  a: readonly T[],
  b: readonly T[],
  compare: (a: T, b: T) => number,
): number {
  if (a.length !== b.length) return a.length - b.length
  for (const [i, entry] of a.entries()) {
    const other = b[i]
    const order = other === undefined ? 0 : compare(entry, other)
    if (order !== 0) return order
  }
  return 0
}

/** Level of detail of a diff. */
export interface DiffBudget {
  /** Whether changed objects also list their unchanged fields. */
  readonly includeUnchanged: boolean
  /** Returns the number of values that may still be listed. */
  readonly remaining: () => number
  /** Reports whether this number of values may be listed; if so, they count towards the limit. */
  readonly tryTake: (count: number) => boolean
}

/**
 * Creates the level of detail. Jobs are submitted by users, and a diff of two with a million values
 * would block the server. Beyond the limit a collection is compared as one text, and an object is
 * listed by name only.
 */
export function newDiffBudget(includeUnchanged: boolean): DiffBudget {
  let remaining: number = LIMITS.diffValuesMax
  return {
    includeUnchanged,
    remaining: () => remaining,
    tryTake(count) {
      if (count > remaining) return false
      remaining -= count
      return true
    },
  }
}
