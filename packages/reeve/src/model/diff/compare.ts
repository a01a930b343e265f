import type { DiffType, FieldDiff, ObjectDiff } from '@reeve/contract'
import { isEqual } from '../deep-equal.ts'
import type { Detail } from './detail.ts'
import { fieldDiff, leavesOf, textOf, valueDiffs, wholeText, type Values } from './fields.ts'
import { compareFields, compareObjects } from './order.ts'
import { pairUp } from './pairs.ts'
import type { ObjectsRule, Rules, TextsRule } from './rules.ts'

/** Differences between two records of one type, each part in its order. */
export interface Parts {
  readonly fields: readonly FieldDiff[]
  readonly objects: readonly ObjectDiff[]
}

/** The two sides of a comparison; an absent one is undefined. */
export interface Sides<T> {
  readonly before: T | undefined
  readonly after: T | undefined
}

/** Compares two records by the rules of their type. Equal fields are listed as `None`. */
export function compareRecords(
  rules: Rules,
  { before, after }: Sides<object>,
  detail: Detail,
): Parts {
  const fields: FieldDiff[] = []
  const objects: ObjectDiff[] = []
  for (const [name, rule] of Object.entries(rules)) {
    if (rule === 'unseen' || rule === 'nested') continue
    const sides = { before: propertyOf(before, name), after: propertyOf(after, name) }
    if (rule === 'field') fields.push(fieldDiff(name, textOf(sides.before), textOf(sides.after)))
    else if (rule === 'entries') fields.push(...entryDiffs(name, sides, detail))
    else if (rule.kind === 'texts') objects.push(...textsDiff(name, rule, { sides, detail }))
    else if (rule.kind === 'tree') objects.push(...treeDiff(name, sides, detail))
    else if (rule.kind === 'objects') objects.push(...objectDiffs(rule, sides, detail))
    else objects.push(...objectDiff(name, rule.rules, { sides: recordsOf(sides), detail }))
  }
  return { fields: fields.toSorted(compareFields), objects: objects.toSorted(compareObjects) }
}

export function isChange({ Type }: { readonly Type: DiffType }): boolean {
  return Type !== 'None'
}

/** Returns the change type of a whole object. */
export function changeOf({ before, after }: Sides<unknown>, isChanged: boolean): DiffType {
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
  readonly sides: Sides<T>
  readonly detail: Detail
}

function objectDiff(
  name: string,
  rules: Rules,
  { sides, detail }: Comparison<object>,
): readonly ObjectDiff[] {
  if (isEqual(sides.before, sides.after)) return []
  if (!detail.take(Object.keys(rules).length))
    return [{ Type: changeOf(sides, true), Name: name, Fields: null, Objects: null }]
  return made(name, sides, { ...compareRecords(rules, sides, detail), detail })
}

/** Returns the object diff; nothing if it has no change. */
function made(
  Name: string,
  sides: Sides<unknown>,
  { fields, objects, detail }: Parts & { readonly detail: Detail },
): readonly ObjectDiff[] {
  const Type = changeOf(sides, fields.some(isChange) || objects.some(isChange))
  if (Type === 'None') return []
  const shown = detail.contextual ? fields : fields.filter(isChange)
  return [{ Type, Name, Fields: listOrNull(shown), Objects: listOrNull(objects) }]
}

function objectDiffs(
  { name, rules, keyOf }: ObjectsRule,
  { before, after }: Sides<unknown>,
  detail: Detail,
): readonly ObjectDiff[] {
  if (isEqual(before, after)) return []
  return pairUp(membersOf(before), membersOf(after), keyOf).flatMap(([old, next]) =>
    objectDiff(name, rules, { sides: { before: old, after: next }, detail }),
  )
}

/** Returns the diff of a string map, which is part of its record: a field per key. */
function entryDiffs(
  name: string,
  { before, after }: Sides<unknown>,
  detail: Detail,
): readonly FieldDiff[] {
  const [old, next] = [entriesOf(before), entriesOf(after)]
  if (!detail.take(old.length + next.length))
    return [fieldDiff(name, wholeText(before), wholeText(after))]
  return valueDiffs(named(name, old), named(name, next))
}

function named(name: string, entries: readonly (readonly [string, unknown])[]): Values {
  return new Map(entries.map(([key, value]) => [`${name}[${key}]`, textOf(value)]))
}

function treeDiff(
  name: string,
  { before, after }: Sides<unknown>,
  detail: Detail,
): readonly ObjectDiff[] {
  if (isEqual(before, after)) return []
  const old = leavesOf(before, detail.left())
  const next = leavesOf(after, detail.left())
  const isTold = old !== undefined && next !== undefined && detail.take(old.size + next.size)
  const fields = isTold
    ? valueDiffs(old, next).toSorted(compareFields)
    : [fieldDiff(name, wholeText(before), wholeText(after))]
  const sides = { before: wholeOf(before), after: wholeOf(after) }
  return made(name, sides, { fields, objects: [], detail })
}

/** Returns the diff of a list of texts: an object whose fields all have the name of the list. */
function textsDiff(
  name: string,
  rule: TextsRule,
  { sides, detail }: Comparison<unknown>,
): readonly ObjectDiff[] {
  if (isEqual(sides.before, sides.after)) return []
  const [before, after] = [textsOf(sides.before), textsOf(sides.after)]
  const fields = detail.take(before.length + after.length)
    ? textDiffs(name, rule, [before, after])
    : [fieldDiff(name, wholeText(before), wholeText(after))]
  const there = { before: wholeOf(before), after: wholeOf(after) }
  return made(name, there, { fields, objects: [], detail })
}

/** Returns the collection; undefined if it is empty. */
function wholeOf(collection: unknown): object | undefined {
  const record = recordOf(collection)
  return record === undefined || Object.keys(record).length === 0 ? undefined : record
}

function textDiffs(
  name: string,
  { ordered }: TextsRule,
  [before, after]: readonly [readonly string[], readonly string[]],
): readonly FieldDiff[] {
  const members = memberDiffs(name, new Set(before), new Set(after))
  const isMoved = ordered && !members.some(isChange)
  return (isMoved ? positionDiffs(name, before, after) : members).toSorted(compareFields)
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

function recordsOf({ before, after }: Sides<unknown>): Sides<object> {
  return { before: recordOf(before), after: recordOf(after) }
}

/** Returns the members of a list, or of a map whose members contain their name. */
function membersOf(collection: unknown): readonly object[] {
  const members: readonly unknown[] = Object.values(recordOf(collection) ?? {})
  return members.filter((member) => typeof member === 'object' && member !== null)
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(textOf) : []
}
