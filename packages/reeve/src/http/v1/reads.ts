import type { NamespaceCapability } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Caller, Grants } from '../../acl/index.ts'
import type { FilterOptions } from '../../lang/filter/index.ts'
import { LIMITS, parseUuidPrefix, refusal, type Refusal } from '../../model/index.ts'
import {
  compareCreation,
  type NamespacedTable,
  type NamespaceScope,
  type NamespaceSet,
  type OrderKey,
  type Store,
  type Table,
} from '../../state/index.ts'
import { buildPage, type PageQuery, sliceOptions } from '../list-page.ts'
import { jsonBatches, jsonItems, type HttpResponse, json, jsonText } from '../response.ts'
import type { WatchedRead } from './endpoint.ts'

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
interface PageTokenCodec {
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

export interface ListOptions<Row> {
  readonly scan: RowScan<Row>
  readonly query: PageQuery
  /** Declared types of the record, for the filter. */
  readonly filter: FilterOptions
  /** Object that filters are evaluated on; the row itself by default. */
  readonly filterView?: (row: Row) => unknown
  /** Item of the list; the row itself by default. */
  readonly stub?: (row: Row) => unknown
  /** Returns the item as JSON where that is cached; rendered each time by default. */
  readonly stubJson?: (row: Row) => string
}

/** Returns one page of a list. A long list without pagination is streamed. */
export async function listResponse<Row>(
  { scan, query, filter, filterView, stub = identity, stubJson }: ListOptions<Row>,
  yieldTurn: () => Promise<void>,
): Promise<Result<HttpResponse, Refusal>> {
  const page = await buildPage(
    {
      ...scan,
      filterOptions: filter,
      filterView: filterView ?? identity,
      render: stubJson ?? ((row) => JSON.stringify(stub(row))),
      inlineCharsMax: LIMITS.wholeListCharsMax,
    },
    query,
    sliceOptions(yieldTurn),
  )
  if (!page.ok) return page
  const { items, nextToken, rest } = page.value
  return ok(rest === undefined ? jsonItems(items, nextToken) : jsonBatches(items, rest))
}

function identity(row: unknown): unknown {
  return row
}

interface RowOptions<Row> {
  readonly key: string
  /** Error if the row does not exist. */
  readonly notFound: Refusal
  /** Renders the row; its stored text unless given. */
  readonly render?: (row: Row) => unknown
  /** Reports whether the caller may see the row; a hidden one counts as missing. */
  readonly isVisible?: (row: Row) => boolean
  /** Index of a missing row; the table's unless given. */
  readonly missingIndex?: () => number
}

/** Reads one row by its key. */
export function readRow<Row extends object>(
  table: Table<Row>,
  options: RowOptions<Row>,
): WatchedRead {
  const { key, notFound, render, isVisible, missingIndex } = options
  return {
    ...watchRow(table, { key, isVisible, missingIndex }),
    respond: () => {
      const body = table.rowJsonOf(key)
      if (body === undefined || isVisible?.(table.get(key)) === false) return err(notFound)
      return ok(render === undefined ? jsonText(body) : json(render(table.get(key))))
    },
  }
}

interface RowWatchOptions<Row> {
  readonly key: string
  readonly isVisible: ((row: Row) => boolean) | undefined
  readonly missingIndex: (() => number) | undefined
}

/**
 * Returns the index and the watch of one row: its own index if it exists; if it is missing, the
 * table's in the namespaces that the caller may read. A hidden row counts as missing: neither its
 * index nor the moment of a change reveals it.
 */
export function watchRow<Row extends object>(
  table: Table<Row>,
  { key, isVisible, missingIndex = () => table.lastIndex }: RowWatchOptions<Row>,
): Pick<WatchedRead, 'index' | 'watch'> {
  const isHidden = (): boolean =>
    isVisible !== undefined && table.has(key) && !isVisible(table.get(key))
  return {
    index: () => (isHidden() ? undefined : table.modifyIndexOf(key)) ?? missingIndex(),
    watch: [{ table: table.spec.name, key: isHidden() ? UNWATCHED_KEY : key }],
  }
}

/** A key no row has: a hidden row must not wake the query. */
const UNWATCHED_KEY = ''

/**
 * Lists rows of a table. `list` is evaluated for each response: permissions may change meanwhile.
 */
export function listRows<Row extends object>(
  table: Table<Row>,
  list: () => ListOptions<Row>,
): WatchedRead {
  const watched = { index: () => table.lastIndex, watch: [{ table: table.spec.name }] }
  return listWatched(watched, list)
}

/** Lists rows of some namespaces, and watches only those. */
export function listWatched<Row extends object>(
  watched: Pick<WatchedRead, 'index' | 'watch'>,
  list: () => ListOptions<Row>,
): WatchedRead {
  return {
    ...watched,
    respond: (yieldTurn) => listResponse(list(), yieldTurn),
  }
}

/** Groups up to this size are rendered in one tick, which takes a millisecond at most. */
const UNSLICED_ROWS_MAX = 64

interface IndexGroupQuery<Row> {
  readonly index: string
  readonly group: string
  /** Renders a row as JSON; undefined omits it. */
  readonly renderJson: (row: Row) => string | undefined
}

/**
 * Returns all rows of a group, sorted by key. A job may have 50,000 allocations, so large groups
 * are read in slices.
 */
export function groupResponse<Row extends object>(
  table: Table<Row>,
  query: IndexGroupQuery<Row>,
  yieldTurn: () => Promise<void>,
): Result<HttpResponse, Refusal> | Promise<Result<HttpResponse, Refusal>> {
  const { index, group, renderJson } = query
  if (table.countByIndex(index, group) > UNSLICED_ROWS_MAX)
    return respondInSlices(table, query, yieldTurn)
  return ok(jsonItems(table.rowsByIndex(index, group).flatMap((row) => renderJson(row) ?? [])))
}

async function respondInSlices<Row extends object>(
  table: Table<Row>,
  query: IndexGroupQuery<Row>,
  yieldTurn: () => Promise<void>,
): Promise<Result<HttpResponse, Refusal>> {
  return ok(jsonItems(await runInSlices(renderItems(table, query), sliceOptions(yieldTurn))))
}

function* renderItems<Row extends object>(
  table: Table<Row>,
  { index, group, renderJson }: IndexGroupQuery<Row>,
): Steps<readonly string[]> {
  const items: string[] = []
  for (const key of [...table.keysByIndex(index, group)].toSorted(compareText)) {
    // The row may have been deleted since the keys were read.
    const row = table.find(key)
    const item = row === undefined ? undefined : renderJson(row)
    if (item !== undefined) items.push(item)
    yield
  }
  return items
}

/** A permission by which a caller sees rows of a namespace, with a unique name. */
export interface NamespacePermission {
  readonly name: string
  readonly isGranted: (grants: Grants, namespace: string) => boolean
}

/** Returns the permission to see the rows of a namespace by a capability in it. */
function capabilityPermission(capability: NamespaceCapability): NamespacePermission {
  return {
    name: capability,
    isGranted: (grants, namespace) => grants.allows(namespace, capability),
  }
}

export const READ_JOB = capabilityPermission('read-job')
export const LIST_JOBS = capabilityPermission('list-jobs')

interface ScopedRequest {
  readonly caller: Caller
  readonly namespace: string
}

/**
 * Returns the namespaces of a list: the one that its request names, or with `*` all that the caller
 * may see.
 */
export function requestScope({ caller, namespace }: ScopedRequest, right: NamespacePermission) {
  return namespace === '*' ? permittedScope(caller, right) : namespaceScope(namespace)
}

/** Returns the scope of one namespace. */
export function namespaceScope(namespace: string): NamespaceScope {
  return { kind: 'one', namespace }
}

/** Returns the namespace of a row whose key begins with it. */
export function keyScope(key: string): NamespaceScope {
  return namespaceScope(key.slice(0, key.indexOf('!')))
}

/** Returns every namespace in which the caller has the permission. */
export function permittedScope({ grants }: Caller, right: NamespacePermission): NamespaceScope {
  if (grants.isManagement) return EVERY_NAMESPACE
  const sets = cachedSets.get(grants) ?? new Map<string, NamespaceSet>()
  cachedSets.set(grants, sets)
  const set: NamespaceSet = sets.get(right.name) ?? {
    kind: 'some',
    covers: (namespace) => right.isGranted(grants, namespace),
  }
  sets.set(right.name, set)
  return set
}

const EVERY_NAMESPACE: NamespaceScope = { kind: 'every' }

/**
 * One set for all requests with the same grants, so that values derived from the set can be cached
 * with it.
 */
const cachedSets = new WeakMap<Grants, Map<string, NamespaceSet>>()

/** Returns the watch for the next write to one of the tables in these namespaces. */
export function watchTables(
  store: Store,
  tables: readonly NamespacedTable[],
  scope: NamespaceScope,
): Pick<WatchedRead, 'index' | 'watch'> {
  return {
    index: () => Math.max(...tables.map((table) => store.indexIn(table, scope))),
    watch: tables.map((table) => ({ table, scope })),
  }
}
