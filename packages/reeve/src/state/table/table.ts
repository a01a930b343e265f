import { assert } from '@reeve/kit/fault.ts'
import {
  BucketedKeys,
  compareCreation,
  LazySortedKeys,
  type OrderKey,
  sortByCreation,
} from './key-order.ts'
import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { compareText, SortedList } from '@reeve/kit/sorted-list.ts'
import { ShardedMap } from './sharded-map.ts'
import { encodeRow } from '../commit-codec.ts'
import { CLEAN_EPOCH, DirtyRows, type DirtyRange } from './dirty-rows.ts'
import { SecondaryIndexes } from './secondary-indexes.ts'
import { UNSPLIT, joinRowJson, type RowSplit, type RowJson, type EncodedRow } from './row-json.ts'
import {
  readText,
  type OffHeapText,
  type LoadedRow,
  type RowHeader,
  type RowIndexes,
} from '../commit.ts'

/** Keys, indexes, order and caching of one table. */
export interface TableSpec<Row, Index extends string = string> {
  readonly name: string
  readonly key: (row: Row) => string
  /**
   * Secondary indexes: functions that return the index key of a row, or undefined if the row is not
   * in the index.
   */
  readonly indexes: Readonly<Record<Index, (row: Row) => string | undefined>>
  /** Namespace of a row, for namespaced tables; it never changes. */
  readonly namespace?: (row: Row) => string
  /** Also keeps the creation order (create index, key), which some lists need. */
  readonly keepsCreationOrder: boolean
  /** True if keys start randomly, as UUIDs do; selects another sorted structure. */
  readonly randomKeys?: boolean
  /** Rows carry `CreateIndex` and `ModifyIndex`, written by the store. */
  readonly stamped: boolean
  /** How rows are split, for tables with many large rows. */
  readonly rowSplit?: RowSplit<Row>
  /** Number of rows cached in decoded form. All others are JSON until they are read. */
  readonly decodedCacheSize: number
  /**
   * Cache size for rows decoded by a write; defaults to the size of the other cache. Small for
   * bulk-written tables: cached rows are promoted to the old generation, where garbage collection
   * took 25 % of a job registration. Rows read later move to the other cache.
   */
  readonly writtenCacheSize?: number
  /** Name of the index whose keys are blob keys: a blob is deleted with the last row of its key. */
  readonly blobIndex?: NoInfer<Index>
  /**
   * The minor version (`0.2`) that introduced the table: until the cluster level has reached it,
   * the version before may start again and could not read the rows (docs/how-to/upgrade.md).
   */
  readonly since?: string
}

/** Indexes of the commits that created and last changed a row. */
export interface RowIndexFields {
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/** The stored form of a row. */
interface EncodedTableRow {
  readonly header: RowHeader
  readonly body: string
}

/** A row to write: its JSON, and its decoded form if available. */
interface RowWrite<Row> {
  readonly indexes: RowIndexes
  readonly text: RowJson
  readonly row?: Row | undefined
}

interface Slot<Row> {
  readonly key: string
  readonly createIndex: number
  modifyIndex: number
  /** JSON of the row (RowJson); empty if it is kept off-heap. */
  common: string
  steady: string
  body: string
  held: OffHeapText | undefined
  row: Row | undefined
  /** Checkpoint epoch of the last write. */
  epoch: number
  /** Row ID in the secondary indexes. */
  rowId: number
}

/** Handle of a row; valid until the table changes. */
type Entry<Row> = Slot<Row>

/** A ring of slots whose rows are cached in decoded form. */
interface Ring<S> {
  readonly slots: S[]
  /** Position of the next slot. */
  nextPosition: number
  readonly max: number
}

/** Evicts first in, first out: cheap, and recently used rows are likely to be used next. */
function keepDecoded<Row>(ring: Ring<Slot<Row>>, slot: Slot<Row>, row: Row): void {
  const evicted = ring.slots[ring.nextPosition]
  if (evicted !== undefined) evicted.row = undefined
  ring.slots[ring.nextPosition] = slot
  ring.nextPosition = (ring.nextPosition + 1) % ring.max
  slot.row = row
}

/**
 * Clears the text and row of a deleted slot, because the cache may reference the slot for a long
 * time. Returns the undo function.
 */
function clearSlot<Row>(slot: Slot<Row>): () => void {
  const { common, steady, body, held } = slot
  Object.assign(slot, { common: '', steady: '', body: '', held: undefined, row: undefined })
  return () => void Object.assign(slot, { common, steady, body, held })
}

/** Restores the previous value of a row after a commit could not be made durable. */
export type Undo = () => void

/**
 * One table in memory. Rows are kept as JSON and decoded when read: decoding a million rows would
 * more than double the start time and need a third more memory (decision 0004,
 * bench/state.bench.ts).
 */
export class Table<Row extends object, Index extends string = string> {
  readonly spec: TableSpec<Row>
  readonly #slots = new ShardedMap<Slot<Row>>()
  readonly #byKey: KeyOrder
  readonly #byCreation: SortedList<OrderKey> | undefined
  readonly #indexes: SecondaryIndexes
  /** Slots by row ID. */
  readonly #slotsByRowId: (Slot<Row> | undefined)[] = [undefined]
  readonly #indexNames: readonly string[]
  readonly #indexFunctions: readonly ((row: Row) => string | undefined)[]
  /** Detects rows that were stored with other indexes, whose keys must be recomputed. */
  readonly #indexSignature: string
  readonly #dirty = new DirtyRows((slot: Slot<Row>) => this.#encodeSlot(slot))
  readonly #decodedCache: Ring<Slot<Row>>
  readonly #writtenCache: Ring<Slot<Row>>
  readonly #keyListeners: ((key: string) => void)[] = []
  /** Index of the last commit that wrote to this table; deletes count. */
  lastIndex = 0

  constructor(spec: TableSpec<Row>) {
    this.spec = spec
    this.#indexNames = Object.keys(spec.indexes)
    this.#indexFunctions = Object.values(spec.indexes)
    this.#indexSignature = hashIndexNames(this.#indexNames)
    this.#indexes = new SecondaryIndexes(this.#indexNames.length)
    this.#byKey =
      spec.randomKeys === true ? new BucketedKeys<OrderKey>() : new LazySortedKeys<OrderKey>()
    this.#byCreation = spec.keepsCreationOrder ? new SortedList(compareCreation) : undefined
    this.#decodedCache = { slots: [], nextPosition: 0, max: spec.decodedCacheSize }
    this.#writtenCache =
      spec.writtenCacheSize === undefined
        ? this.#decodedCache
        : { slots: [], nextPosition: 0, max: spec.writtenCacheSize }
  }

  get size(): number {
    return this.#slots.size
  }

  /**
   * Calls `listener` with the key of every row that is written, deleted or rolled back from now on.
   * For data derived from keys and indexes alone, because no row is decoded.
   */
  onKeyChange(listener: (key: string) => void): void {
    this.#keyListeners.push(listener)
  }

  has(key: string): boolean {
    return this.#slots.has(key)
  }

  find(key: string): Row | undefined {
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : this.#decode(slot)
  }

  /** Returns a handle of a row, for callers that need several properties of it. */
  entry(key: string): Entry<Row> | undefined {
    return this.#slots.get(key)
  }

  rowOf(entry: Entry<Row>): Row {
    return this.#decode(entry)
  }

  /** Returns an existing row. */
  get(key: string): Row {
    const row = this.find(key)
    assert(row !== undefined, `${this.spec.name} holds ${key}`)
    return row
  }

  /** JSON of the row as committed; saves encoding it again for events and responses. */
  rowJsonOf(key: string): string | undefined {
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : slotText(slot)
  }

  modifyIndexOf(key: string): number | undefined {
    return this.#slots.get(key)?.modifyIndex
  }

  createIndexOf(key: string): number | undefined {
    return this.#slots.get(key)?.createIndex
  }

  /** Index key of a row, without decoding the row. */
  indexKeyOf(indexName: Index, key: string): string | undefined {
    const indexPosition = this.#indexPosition(indexName)
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : this.#indexes.indexKey(indexPosition, slot.rowId)
  }

  /** Keys of the rows with an index key, in no particular order. */
  keysByIndex(indexName: Index, indexKey: string): Iterable<string> {
    const keys: string[] = []
    for (const rowId of this.#indexes.rowIds(this.#indexPosition(indexName), indexKey)) {
      const slot = this.#slotsByRowId[rowId]
      if (slot !== undefined) keys.push(slot.key)
    }
    return keys
  }

  countByIndex(indexName: Index, indexKey: string): number {
    return this.#indexes.size(this.#indexPosition(indexName), indexKey)
  }

  /** Rows with an index key, sorted by row key for a deterministic order. */
  rowsByIndex(indexName: Index, indexKey: string): Row[] {
    return [...this.keysByIndex(indexName, indexKey)]
      .toSorted(compareText)
      .map((key) => this.get(key))
  }

  /** All keys ≥ `from` ascending, or ≤ `from` descending. */
  *keys(from?: string, descending = false): IterableIterator<string> {
    const probe = from === undefined ? undefined : { key: from, createIndex: 0 }
    const entries = descending ? this.#byKey.descending(probe) : this.#byKey.ascending(probe)
    for (const entry of entries) yield entry.key
  }

  /** All keys in creation order, starting at `from` (inclusive). */
  *keysByCreation(from?: OrderKey, descending = false): IterableIterator<string> {
    assert(this.#byCreation !== undefined, `${this.spec.name} keeps its order of creation`)
    const order = this.#byCreation
    for (const entry of descending ? order.descending(from) : order.ascending(from)) yield entry.key
  }

  /** All rows, by key. For startup and loops; requests must paginate. */
  *rows(): IterableIterator<Row> {
    for (const key of this.keys()) yield this.get(key)
  }

  /** The stored form of a row; undefined if the key does not exist. */
  findEncoded(key: string): EncodedTableRow | undefined {
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : { header: this.#headerOf(slot), body: slotText(slot) }
  }

  /** Number of rows written or deleted since the last checkpoint. */
  get dirtyRows(): number {
    return this.#dirty.size
  }

  /** Includes this row, or its deletion, in the next checkpoint. */
  markDirty(key: string): void {
    const slot = this.#slots.get(key)
    if (slot === undefined) this.#dirty.markDeleted(key)
    else this.#dirty.beforeWrite(slot)
  }

  /** Discards the dirty state, because the leader writes the checkpoints. */
  clearDirty(): void {
    this.#dirty.clear()
  }

  /** Starts a checkpoint of the dirty rows; later writes belong to the next one. */
  beginCheckpoint(): void {
    this.#dirty.beginCheckpoint()
  }

  /** Number of rows written since the last checkpoint, without deleted ones. */
  get writtenCount(): number {
    return this.#dirty.writtenCount
  }

  /** Rows of the checkpoint with their values at its start, one at a time. Undefined deletes. */
  checkpointRows(part?: DirtyRange): Iterable<readonly [string, StringChunks | undefined]> {
    return this.#dirty.rows(part)
  }

  /** Ends the checkpoint; after a failure its rows are written by the next one. */
  endCheckpoint(isWritten: boolean): void {
    this.#dirty.endCheckpoint(isWritten)
  }

  /** Writes a row. `slot`: the existing entry, if the caller has just looked it up. */
  put(key: string, written: RowWrite<Row>, slot = this.entry(key)): Undo {
    const [createIndex] = written.indexes
    if (slot === undefined) return this.#insert(key, written)
    if (slot.createIndex !== createIndex) {
      const undoDelete = this.delete(key)
      const undoInsert = this.#insert(key, written)
      return () => {
        undoInsert()
        undoDelete()
      }
    }
    const { modifyIndex, common, steady, body, held } = slot
    this.#dirty.beforeWrite(slot)
    this.#fillSlot(slot, written)
    return () => {
      const text = held === undefined ? { common, steady, body } : unsplit(held.text())
      this.#fillSlot(slot, { indexes: [createIndex, modifyIndex], text })
    }
  }

  delete(key: string): Undo {
    const slot = this.#slots.get(key)
    if (slot === undefined) return () => undefined
    this.#dirty.beforeDelete(slot)
    this.#slots.delete(key)
    this.#byKey.delete(slot)
    this.#byCreation?.delete(slot)
    const keys = this.#indexes.indexKeys(slot.rowId)
    this.#indexes.freeRowId(slot.rowId)
    this.#slotsByRowId[slot.rowId] = undefined
    const restoreText = clearSlot(slot)
    this.#notifyKeyListeners(key)
    return () => {
      restoreText()
      this.#assignRowId(slot)
      this.#link(slot)
      this.#indexes.reindex(slot.rowId, keys)
      this.#dirty.beforeWrite(slot)
      this.#notifyKeyListeners(key)
    }
  }

  /** Loads one row of the checkpoint into an empty table; `restored` sorts the rows at the end. */
  load(key: string, stored: LoadedRow): void {
    const { header, body } = stored
    const [createIndex, modifyIndex] = header
    const isOffHeap = typeof body !== 'string'
    const text = { ...UNSPLIT, body: isOffHeap ? '' : body }
    const slot = this.#newSlot(key, { indexes: [createIndex, modifyIndex], text })
    if (isOffHeap) slot.held = body
    this.#indexes.reindex(slot.rowId, this.#storedIndexKeys(stored))
    this.#slots.set(key, slot)
  }

  /** Ends a series of `restore` calls. */
  finishLoading(): void {
    const slots = this.#slotsByRowId.filter((slot) => slot !== undefined)
    this.#byKey.assign(slots)
    this.#byCreation?.assignSorted(sortByCreation(slots))
  }

  #insert(key: string, written: RowWrite<Row>): Undo {
    const slot = this.#newSlot(key, written)
    this.#link(slot)
    this.#fillSlot(slot, written)
    this.#dirty.beforeWrite(slot)
    return () => void this.delete(key)
  }

  #newSlot(key: string, { indexes: [createIndex, modifyIndex], text }: RowWrite<Row>): Slot<Row> {
    const { common, steady, body } = text
    const state = { held: undefined, row: undefined, epoch: CLEAN_EPOCH, rowId: 0 }
    const slot: Slot<Row> = { key, createIndex, modifyIndex, common, steady, body, ...state }
    this.#assignRowId(slot)
    return slot
  }

  #assignRowId(slot: Slot<Row>): void {
    slot.rowId = this.#indexes.allocateRowId()
    this.#slotsByRowId[slot.rowId] = slot
  }

  #headerOf({ createIndex, modifyIndex, rowId }: Slot<Row>): RowHeader {
    return [createIndex, modifyIndex, this.#indexSignature, ...this.#indexes.indexKeys(rowId)]
  }

  #encodeSlot(slot: Slot<Row>): StringChunks {
    return encodeRow(
      this.#headerOf(slot),
      slot.held === undefined ? slot : unsplit(slot.held.text()),
    )
  }

  #link(slot: Slot<Row>): void {
    this.#slots.set(slot.key, slot)
    this.#byKey.add(slot)
    this.#byCreation?.add(slot)
  }

  #fillSlot(slot: Slot<Row>, { indexes, text, row }: RowWrite<Row>): void {
    const isCached = slot.row !== undefined
    slot.modifyIndex = indexes[1]
    slot.common = text.common
    slot.steady = text.steady
    slot.body = text.body
    slot.held = undefined
    // The text was encoded from a Row of this table, by this or an earlier version.
    this.#indexes.reindex(
      slot.rowId,
      this.#indexKeysOf(row ?? (JSON.parse(joinRowJson(text)) as Row)),
    )
    // A cached row keeps its position in the ring.
    if (isCached) slot.row = row
    else if (row !== undefined) keepDecoded(this.#writtenCache, slot, row)
    this.#notifyKeyListeners(slot.key)
  }

  #notifyKeyListeners(key: string): void {
    for (const listener of this.#keyListeners) listener(key)
  }

  #decode(slot: Slot<Row>): Row {
    if (slot.row !== undefined) return slot.row
    // The text was encoded from a Row of this table, and nothing else writes texts.
    const row = JSON.parse(slotText(slot)) as Row
    keepDecoded(this.#decodedCache, slot, row)
    return row
  }

  #indexPosition(index: string): number {
    const at = this.#indexNames.indexOf(index)
    assert(at !== -1, `${this.spec.name} has an index ${index}`)
    return at
  }

  /** Index keys of a stored row; recomputed from the row if it was stored with other indexes. */
  #storedIndexKeys({ header, body }: LoadedRow): readonly (string | null)[] {
    const [, , layout, ...keys] = header
    if (layout === this.#indexSignature) return keys
    // The text was encoded from a Row of this table, by this or an earlier version.
    return this.#indexKeysOf(JSON.parse(readText(body)) as Row)
  }

  #indexKeysOf(row: Row): (string | null)[] {
    return this.#indexFunctions.map((groupOf) => groupOf(row) ?? null)
  }
}

/** The row and its JSON; undefined if it is not decoded or kept off-heap. */
export function cachedEncoding<Row>(entry: Entry<Row>): EncodedRow<Row> | undefined {
  if (entry.row === undefined || entry.held !== undefined) return undefined
  return { row: entry.row, text: entry }
}

function unsplit(body: string): RowJson {
  return { ...UNSPLIT, body }
}

function slotText<Row>(slot: Slot<Row>): string {
  return slot.held === undefined ? joinRowJson(slot) : slot.held.text()
}

/** Two implementations of sorted keys. */
type KeyOrder = BucketedKeys<OrderKey> | LazySortedKeys<OrderKey>

/** A short hash of the index names (FNV-1a). */
function hashIndexNames(names: readonly string[]): string {
  let hash = 0x811c9dc5
  for (const char of names.join(',')) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  return (hash >>> 0).toString(36)
}
