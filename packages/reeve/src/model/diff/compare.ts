import type { DiffType, FieldDiff, ObjectDiff } from '@reeve/contract'
import { isEqual } from '../deep-equal.ts'
import type { DiffBudget } from './detail.ts'
import {
  fieldDiff,
  flattenLeaves,
  scalarString,
  valueDiffs,
  compactJson,
  type ValuesByName,
} from './fields.ts'
import { compareFields, compareObjects } from './order.ts'
import { matchByKey } from './pairs.ts'
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
