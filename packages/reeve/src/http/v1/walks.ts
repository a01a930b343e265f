import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { parseUuidPrefix, refusal, type Refusal } from '../../model/index.ts'
import { compareCreation, type OrderKey, type Table } from '../../state/index.ts'

/** The orders of lists, as walks over a table that begin at a token. */
export interface Walk<Row> {
  readonly walk: (from: string | undefined, reverse: boolean) => Iterable<Row>
  readonly tokenOf: (row: Row) => string
  /** What the list shows at all; everything unless given. */
  readonly isVisible?: (row: Row) => boolean
}

/** Above every key that starts with the same text. */
const ABOVE = '\uffff'

/**
 * By key, between `low` and everything that starts with it. Tokens are made and read by `token`.
 */
export function walkKeys<Row extends object>(
  table: Table<Row>,
  low: string,
  token: KeyToken = PLAIN_TOKEN,
): Walk<Row> {
  function* walk(from: string | undefined, reverse: boolean): Generator<Row> {
    const start = from === undefined ? undefined : token.toKey(from)
    if (reverse) {
      for (const key of table.keys(start ?? low + ABOVE, true)) {
        if (key < low) return
        if (key.startsWith(low)) yield table.get(key)
      }
      return
    }
    for (const key of table.keys(start !== undefined && start > low ? start : low)) {
      if (!key.startsWith(low)) return
      yield table.get(key)
    }
  }
  return { walk, tokenOf: (row) => token.fromKey(table.spec.key(row)) }
}

/** How a table's key is spelled as `next_token`. */
export interface KeyToken {
  readonly toKey: (token: string) => string
  readonly fromKey: (key: string) => string
}

const PLAIN_TOKEN: KeyToken = { toKey: (token) => token, fromKey: (key) => key }

/** `<namespace>.<id>`: a namespace's name has no dot. */
export const NAMESPACED_TOKEN: KeyToken = {
  toKey: (token) => token.replace('.', '!'),
  fromKey: (key) => key.replace('!', '.'),
}

/** By creation, with tokens `<CreateIndex>.<id>`. */
function walkCreation<Row extends { readonly CreateIndex: number }>(table: Table<Row>): Walk<Row> {
  function* walk(from: string | undefined, reverse: boolean): Generator<Row> {
    for (const found of table.keysByCreation(positionOf(from), reverse)) yield table.get(found)
  }
  return { walk, tokenOf: (row) => `${row.CreateIndex}.${table.spec.key(row)}` }
}

function positionOf(token: string | undefined): OrderKey | undefined {
  if (token === undefined) return undefined
  const [index = '', key = ''] = token.split('.')
  return { createIndex: Number(index) || 0, key }
}

/**
 * The same order over the rows of one group: a filter that asks for one job must not look at the
 * allocations of all the others.
 */
export function walkGroup<Row extends { readonly CreateIndex: number }>(
  table: Table<Row>,
  index: string,
  group: string,
): Walk<Row> {
  function* walk(from: string | undefined, reverse: boolean): Generator<Row> {
    const start = positionOf(from)
    if (table.countIn(index, group) > SORTED_GROUP_MAX) {
      for (const key of table.keysByCreation(start, reverse))
        if (table.groupOf(index, key) === group) yield table.get(key)
      return
    }
    const keys = [...table.keysIn(index, group)]
      .map((key) => ({ key, createIndex: table.createIndexOf(key) ?? 0 }))
      .toSorted(compareCreation)
    const isDue = (order: number): boolean => (reverse ? order <= 0 : order >= 0)
    for (const entry of reverse ? keys.toReversed() : keys)
      if (start === undefined || isDue(compareCreation(entry, start))) yield table.get(entry.key)
  }
  return { walk, tokenOf: (row) => `${row.CreateIndex}.${table.spec.key(row)}` }
}

/** A larger group is found by walking the table: to sort it for every slice would cost more. */
export const SORTED_GROUP_MAX = 5_000

/** The rows of one group by key, at a cost that other groups hardly add to. */
export function walkGroupKeys<Row extends object>(
  table: Table<Row>,
  { index, group }: { readonly index: string; readonly group: string },
  token: KeyToken = PLAIN_TOKEN,
): Walk<Row> {
  function* walk(from: string | undefined, reverse: boolean): Generator<Row> {
    const start = from === undefined ? undefined : token.toKey(from)
    if (table.countIn(index, group) > SORTED_GROUP_MAX) {
      for (const key of table.keys(start, reverse))
        if (table.groupOf(index, key) === group) yield table.get(key)
      return
    }
    const keys = [...table.keysIn(index, group)].toSorted(compareText)
    for (const key of reverse ? keys.toReversed() : keys)
      if (start === undefined || (reverse ? key <= start : key >= start)) yield table.get(key)
  }
  return { walk, tokenOf: (row) => token.fromKey(table.spec.key(row)) }
}

/** A list of UUIDs: by creation, or by id when there is a prefix. */
export function walkIds<Row extends { readonly CreateIndex: number }>(
  table: Table<Row>,
  kind: string,
  prefix: string | undefined,
): Result<Walk<Row>, Refusal> {
  if (prefix === undefined || prefix === '') return ok(walkCreation(table))
  const parsed = parseUuidPrefix(kind, prefix)
  if (!parsed.ok) return err(refusal('invalid-input', parsed.error))
  return ok(walkKeys(table, parsed.value.low))
}

/** Leaves out what the caller may not see, before anything is counted or filtered. */
export function visible<Row>(walk: Walk<Row>, isVisible: (row: Row) => boolean): Walk<Row> {
  return { ...walk, isVisible }
}
