import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { parseUuidPrefix, refusal, type Refusal } from '../../model/index.ts'
import { compareCreation, type OrderKey, type Table } from '../../state/index.ts'

/** A scan of a table in the order of a list, starting at a token. */
export interface RowScan<Row> {
  readonly scan: (from: string | undefined, reverse: boolean) => Iterable<Row>
  readonly tokenOf: (row: Row) => string
  /** Reports whether a row is on the list; all rows unless given. */
  readonly isVisible?: (row: Row) => boolean
}

/** Sorts after every key with the same prefix. */
const KEY_SUFFIX_MAX = '\uffff'

/** Scans by key, over all keys with the prefix `low`. `token` encodes and decodes page tokens. */
export function scanByKey<Row extends object>(
  table: Table<Row>,
  prefix: string,
  token: PageTokenCodec = PLAIN_CODEC,
): RowScan<Row> {
  function* scan(from: string | undefined, reverse: boolean): Generator<Row> {
    const start = from === undefined ? undefined : token.toKey(from)
    if (reverse) {
      for (const key of table.keys(start ?? prefix + KEY_SUFFIX_MAX, true)) {
        if (key < prefix) return
        if (key.startsWith(prefix)) yield table.get(key)
      }
      return
    }
    for (const key of table.keys(start !== undefined && start > prefix ? start : prefix)) {
      if (!key.startsWith(prefix)) return
      yield table.get(key)
    }
  }
  return { scan, tokenOf: (row) => token.fromKey(table.spec.key(row)) }
}

/** Encoding of a table's key as `next_token`. */
export interface PageTokenCodec {
  readonly toKey: (token: string) => string
  readonly fromKey: (key: string) => string
}

const PLAIN_CODEC: PageTokenCodec = { toKey: (token) => token, fromKey: (key) => key }

/** Encodes `<namespace>.<id>`: names of namespaces have no dot. */
export const NAMESPACED_KEY_CODEC: PageTokenCodec = {
  toKey: (token) => token.replace('.', '!'),
  fromKey: (key) => key.replace('!', '.'),
}

/** Scans by creation, with page tokens `<CreateIndex>.<id>`. */
function scanByCreation<Row extends { readonly CreateIndex: number }>(
  table: Table<Row>,
): RowScan<Row> {
  function* scan(from: string | undefined, reverse: boolean): Generator<Row> {
    for (const found of table.keysByCreation(parseCreationToken(from), reverse))
      yield table.get(found)
  }
  return { scan, tokenOf: (row) => `${row.CreateIndex}.${table.spec.key(row)}` }
}

function parseCreationToken(token: string | undefined): OrderKey | undefined {
  if (token === undefined) return undefined
  const [index = '', key = ''] = token.split('.')
  return { createIndex: Number(index) || 0, key }
}

/**
 * Scans the rows of one index group by creation: a filter for one job must not scan the allocations
 * of all jobs.
 */
export function scanIndex<Row extends { readonly CreateIndex: number }>(
  table: Table<Row>,
  index: string,
  group: string,
): RowScan<Row> {
  function* scan(from: string | undefined, reverse: boolean): Generator<Row> {
    const start = parseCreationToken(from)
    if (table.countByIndex(index, group) > SORTED_GROUP_MAX) {
      for (const key of table.keysByCreation(start, reverse))
        if (table.indexKeyOf(index, key) === group) yield table.get(key)
      return
    }
    const keys = [...table.keysByIndex(index, group)]
      .map((key) => ({ key, createIndex: table.createIndexOf(key) ?? 0 }))
      .toSorted(compareCreation)
    const isInRange = (order: number): boolean => (reverse ? order <= 0 : order >= 0)
    for (const entry of reverse ? keys.toReversed() : keys)
      if (start === undefined || isInRange(compareCreation(entry, start)))
        yield table.get(entry.key)
  }
  return { scan, tokenOf: (row) => `${row.CreateIndex}.${table.spec.key(row)}` }
}

/**
 * Size above which a group is read by scanning the table: sorting it for every slice would cost
 * more.
 */
export const SORTED_GROUP_MAX = 5_000

/** Scans the rows of one index group by key; other groups hardly affect the cost. */
export function scanIndexByKey<Row extends object>(
  table: Table<Row>,
  { index, group }: { readonly index: string; readonly group: string },
  token: PageTokenCodec = PLAIN_CODEC,
): RowScan<Row> {
  function* scan(from: string | undefined, reverse: boolean): Generator<Row> {
    const start = from === undefined ? undefined : token.toKey(from)
    if (table.countByIndex(index, group) > SORTED_GROUP_MAX) {
      for (const key of table.keys(start, reverse))
        if (table.indexKeyOf(index, key) === group) yield table.get(key)
      return
    }
    const keys = [...table.keysByIndex(index, group)].toSorted(compareText)
    for (const key of reverse ? keys.toReversed() : keys)
      if (start === undefined || (reverse ? key <= start : key >= start)) yield table.get(key)
  }
  return { scan, tokenOf: (row) => token.fromKey(table.spec.key(row)) }
}

/** Scans a list of UUIDs: by creation, or by ID if there is a prefix. */
export function scanByIdPrefix<Row extends { readonly CreateIndex: number }>(
  table: Table<Row>,
  kind: string,
  prefix: string | undefined,
): Result<RowScan<Row>, Refusal> {
  if (prefix === undefined || prefix === '') return ok(scanByCreation(table))
  const parsed = parseUuidPrefix(kind, prefix)
  if (!parsed.ok) return err(refusal('invalid-input', parsed.error))
  return ok(scanByKey(table, parsed.value.low))
}

/** Restricts a scan to visible rows, before rows are counted or filtered. */
export function filterVisible<Row>(
  walk: RowScan<Row>,
  isVisible: (row: Row) => boolean,
): RowScan<Row> {
  return { ...walk, isVisible }
}
