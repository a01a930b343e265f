import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { parseUuidPrefix, refusal, type Refusal } from '../../model/index.ts'
import { compareCreation, type OrderKey, type Table } from '../../state/index.ts'

/** A list order: a walk over a table that starts at a token. */
export interface Walk<Row> {
  readonly walk: (from: string | undefined, reverse: boolean) => Iterable<Row>
  readonly tokenOf: (row: Row) => string
  /** Reports whether a row is on the list; all rows unless given. */
  readonly isVisible?: (row: Row) => boolean
}

/** Above every key with the same prefix. */
const ABOVE = '\uffff'

/** Walks by key, from `low` over all keys with that prefix. `token` encodes and decodes tokens. */
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

/** Encoding of a table's key as `next_token`. */
export interface KeyToken {
  readonly toKey: (token: string) => string
  readonly fromKey: (key: string) => string
}

const PLAIN_TOKEN: KeyToken = { toKey: (token) => token, fromKey: (key) => key }

/** Encodes `<namespace>.<id>`: names of namespaces have no dot. */
export const NAMESPACED_TOKEN: KeyToken = {
  toKey: (token) => token.replace('.', '!'),
  fromKey: (key) => key.replace('!', '.'),
}

/** Walks by creation, with tokens `<CreateIndex>.<id>`. */
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
 * Walks the rows of one group by creation: a filter for one job must not scan the allocations of
 * all jobs.
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

/**
 * Size above which a group is found by walking the table: sorting it for every slice would cost
 * more.
 */
export const SORTED_GROUP_MAX = 5_000

/** Walks the rows of one group by key, at a cost hardly affected by other groups. */
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

/** Walks a list of UUIDs: by creation, or by ID if there is a prefix. */
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

/** Restricts a walk to visible rows, before rows are counted or filtered. */
export function visible<Row>(walk: Walk<Row>, isVisible: (row: Row) => boolean): Walk<Row> {
  return { ...walk, isVisible }
}
