import { assert } from '@reeve/kit/fault.ts'
import { LazySortedKeys } from './key-order.ts'
import type { StringChunks } from '@reeve/kit/string-chunks.ts'
import { BucketedKeys } from './key-order.ts'
import { compareText, SortedList } from '@reeve/kit/sorted-list.ts'
import { ShardedMap } from './sharded-map.ts'
import { encodeRow } from './codec.ts'
import { CLEAN, DirtyRows, type DirtyPart } from './dirty-rows.ts'
import { compareCreation, inOrderOfCreation, type OrderKey } from './order-of-creation.ts'
import { RowGroups } from './row-groups.ts'
import { IN_ONE, wholeText, type RowPieces, type RowText, type TextedRow } from './row-text.ts'
import {
  textOf,
  type HeldText,
  type RestoredRow,
  type RowHeader,
  type RowIndexes,
} from './stored-row.ts'

/** How one table keys, groups, orders and keeps its rows. */
export interface TableSpec<Row> {
  readonly name: string
  readonly key: (row: Row) => string
  /** Secondary indexes: the group a row belongs to, or undefined when it is in none. */
  readonly groups: Readonly<Record<string, (row: Row) => string | undefined>>
  /** The namespace of a row, where the rows of a table are in namespaces; it never changes. */
  readonly namespace?: (row: Row) => string
  /**
   * Also keeps the order of creation: (create index, key). Some lists need it for some tables.
   */
  readonly byCreation: boolean
  /** Keys begin at random, as UUIDs do: their order is kept in another way. */
  readonly randomKeys?: boolean
  /** Rows carry `CreateIndex` and `ModifyIndex`, written by the store. */
  readonly stamped: boolean
  /** How the texts of rows are taken apart, in tables with many large rows. */
  readonly pieces?: RowPieces<Row>
  /** How many rows stay decoded. The others are text until somebody reads them. */
  readonly decodedRowsMax: number
  /**
   * How many of those that were written stay decoded, where that is another number: what is kept
   * outlives the young generation, and the collector's work on it was a quarter of a registration.
   * Who reads a row after that decodes it, and then it stays among the others.
   */
  readonly writtenRowsMax?: number
  /**
   * The index whose groups are keys of blobs: a blob belongs to the rows of its group and goes with
   * the last of them, whoever removes it.
   */
  readonly blobGroup?: string
}

/** When a row was first and last written. */
export interface RowStamps {
  readonly CreateIndex: number
  readonly ModifyIndex: number
}

/** What is stored of a row. */
export interface EncodedRow {
  readonly header: RowHeader
  readonly body: string
}

/** A row as it is written: its text, and its decoded form where somebody has it. */
export interface WrittenRow<Row> {
  readonly indexes: RowIndexes
  readonly text: RowText
  readonly row?: Row | undefined
}

interface Slot<Row> {
  readonly key: string
  readonly createIndex: number
  modifyIndex: number
  /** The text of the row (RowText); empty where somebody else holds it. */
  common: string
  steady: string
  body: string
  held: HeldText | undefined
  row: Row | undefined
  /** When it was last written, in checkpoints. */
  round: number
  /** Where it is in the secondary indexes. */
  place: number
}

/** A row in its table, until the table changes. */
export type Entry<Row> = Slot<Row>

/** Slots whose rows are kept decoded. */
interface Ring<S> {
  readonly slots: S[]
  /** Where the next one goes. */
  at: number
  readonly max: number
}

/** First in, first out: cheap, and what was written or read last is what is read next. */
function keepDecoded<Row>(ring: Ring<Slot<Row>>, slot: Slot<Row>, row: Row): void {
  const evicted = ring.slots[ring.at]
  if (evicted !== undefined) evicted.row = undefined
  ring.slots[ring.at] = slot
  ring.at = (ring.at + 1) % ring.max
  slot.row = row
}

/**
 * Takes the text and the row out of a slot whose row is deleted: it may stay among those that are
 * kept decoded for a long time. Returns the way to put the text back.
 */
function emptySlot<Row>(slot: Slot<Row>): () => void {
  const { common, steady, body, held } = slot
  Object.assign(slot, { common: '', steady: '', body: '', held: undefined, row: undefined })
  return () => void Object.assign(slot, { common, steady, body, held })
}

/** Puts a row back to what it was: used when a commit could not be made durable. */
export type Undo = () => void

/**
 * One table in memory. Rows are kept as text and decoded when read: to decode a million of them
 * would more than double the time of a start, and they take a third more memory (decision 0004,
 * bench/state.bench.ts).
 */
export class Table<Row extends object> {
  readonly spec: TableSpec<Row>
  readonly #slots = new ShardedMap<Slot<Row>>()
  readonly #byKey: KeyOrder
  readonly #byCreation: SortedList<OrderKey> | undefined
  readonly #groups: RowGroups
  /** The rows at their places. */
  readonly #placed: (Slot<Row> | undefined)[] = [undefined]
  readonly #groupNames: readonly string[]
  readonly #groupFunctions: readonly ((row: Row) => string | undefined)[]
  /** Tells rows that were written with other indexes: their groups are worked out anew. */
  readonly #layout: string
  readonly #dirty = new DirtyRows((slot: Slot<Row>) => this.#inParts(slot))
  readonly #decoded: Ring<Slot<Row>>
  readonly #written: Ring<Slot<Row>>
  readonly #keyListeners: ((key: string) => void)[] = []
  /** Index of the last commit that wrote to this table; deletes count. */
  lastIndex = 0

  constructor(spec: TableSpec<Row>) {
    this.spec = spec
    this.#groupNames = Object.keys(spec.groups)
    this.#groupFunctions = Object.values(spec.groups)
    this.#layout = layoutOf(this.#groupNames)
    this.#groups = new RowGroups(this.#groupNames.length)
    this.#byKey =
      spec.randomKeys === true ? new BucketedKeys<OrderKey>() : new LazySortedKeys<OrderKey>()
    this.#byCreation = spec.byCreation ? new SortedList(compareCreation) : undefined
    this.#decoded = { slots: [], at: 0, max: spec.decodedRowsMax }
    this.#written =
      spec.writtenRowsMax === undefined
        ? this.#decoded
        : { slots: [], at: 0, max: spec.writtenRowsMax }
  }

  get size(): number {
    return this.#slots.size
  }

  /**
   * Calls `listener` with the key of every row that is written or removed from now on, or put back.
   * For what is derived from keys and indexes alone: no row is decoded for it.
   */
  onKey(listener: (key: string) => void): void {
    this.#keyListeners.push(listener)
  }

  has(key: string): boolean {
    return this.#slots.has(key)
  }

  find(key: string): Row | undefined {
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : this.#decode(slot)
  }

  /** A row as the table keeps it, for those who ask for several things about it. */
  entry(key: string): Entry<Row> | undefined {
    return this.#slots.get(key)
  }

  rowOf(entry: Entry<Row>): Row {
    return this.#decode(entry)
  }

  /** The row of a key that is known to be there. */
  get(key: string): Row {
    const row = this.find(key)
    assert(row !== undefined, `${this.spec.name} holds ${key}`)
    return row
  }

  /** The row's text as committed; saves encoding it again for events and responses. */
  bodyOf(key: string): string | undefined {
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : textIn(slot)
  }

  modifyIndexOf(key: string): number | undefined {
    return this.#slots.get(key)?.modifyIndex
  }

  createIndexOf(key: string): number | undefined {
    return this.#slots.get(key)?.createIndex
  }

  /** The group of a row in a secondary index, known without decoding the row. */
  groupOf(index: string, key: string): string | undefined {
    const at = this.#indexAt(index)
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : this.#groups.keyAt(at, slot.place)
  }

  /** Keys of a secondary index's group, in no promised order. */
  keysIn(index: string, group: string): Iterable<string> {
    const keys: string[] = []
    for (const place of this.#groups.places(this.#indexAt(index), group)) {
      const slot = this.#placed[place]
      if (slot !== undefined) keys.push(slot.key)
    }
    return keys
  }

  countIn(index: string, group: string): number {
    return this.#groups.size(this.#indexAt(index), group)
  }

  /** Rows of a group, by key, so that whoever reads them gets one order. */
  rowsIn(index: string, group: string): Row[] {
    return [...this.keysIn(index, group)].toSorted(compareText).map((key) => this.get(key))
  }

  /** All keys from `from` on (inclusive), ascending or descending. */
  *keys(from?: string, descending = false): IterableIterator<string> {
    const probe = from === undefined ? undefined : { key: from, createIndex: 0 }
    const walk = descending ? this.#byKey.descending(probe) : this.#byKey.ascending(probe)
    for (const entry of walk) yield entry.key
  }

  /** All keys in order of creation, from a position on (inclusive). */
  *keysByCreation(from?: OrderKey, descending = false): IterableIterator<string> {
    assert(this.#byCreation !== undefined, `${this.spec.name} keeps its order of creation`)
    const order = this.#byCreation
    for (const entry of descending ? order.descending(from) : order.ascending(from)) yield entry.key
  }

  /** Every row, by key. For start-up and loops; requests page. */
  *rows(): IterableIterator<Row> {
    for (const key of this.keys()) yield this.get(key)
  }

  /** The stored form of a row; undefined when the key is free. */
  encoded(key: string): EncodedRow | undefined {
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : { header: this.#headerOf(slot), body: textIn(slot) }
  }

  /** Rows that were written or deleted since the last checkpoint. */
  get dirtyRows(): number {
    return this.#dirty.size
  }

  /** The next checkpoint writes this row, or that it is gone. */
  markDirty(key: string): void {
    const slot = this.#slots.get(key)
    if (slot === undefined) this.#dirty.noteDeleted(key)
    else this.#dirty.write(slot)
  }

  /** Somebody else writes what was written here. */
  forgetDirty(): void {
    this.#dirty.forget()
  }

  /** Begins a checkpoint of these; what is written from now on is of the next one. */
  beginCheckpoint(): void {
    this.#dirty.begin()
  }

  /** Rows written since the last checkpoint, without those that were deleted. */
  get writtenCount(): number {
    return this.#dirty.writtenCount
  }

  /** The rows of the checkpoint as they were when it began, one at a time. Undefined deletes. */
  checkpointRows(part?: DirtyPart): Iterable<readonly [string, StringChunks | undefined]> {
    return this.#dirty.rows(part)
  }

  /** What was not written is written by the next one. */
  endCheckpoint(isWritten: boolean): void {
    this.#dirty.end(isWritten)
  }

  /** Writes a row. `slot`: its entry, from whoever has just looked it up. */
  put(key: string, written: WrittenRow<Row>, slot = this.entry(key)): Undo {
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
    this.#dirty.write(slot)
    this.#fillSlot(slot, written)
    return () => {
      const text = held === undefined ? { common, steady, body } : inOne(held.text())
      this.#fillSlot(slot, { indexes: [createIndex, modifyIndex], text })
    }
  }

  delete(key: string): Undo {
    const slot = this.#slots.get(key)
    if (slot === undefined) return () => undefined
    this.#dirty.delete(slot)
    this.#slots.delete(key)
    this.#byKey.delete(slot)
    this.#byCreation?.delete(slot)
    const keys = this.#groups.keysAt(slot.place)
    this.#groups.leavePlace(slot.place)
    this.#placed[slot.place] = undefined
    const restoreText = emptySlot(slot)
    this.#tellKey(key)
    return () => {
      restoreText()
      this.#putInPlace(slot)
      this.#link(slot)
      this.#groups.move(slot.place, keys)
      this.#dirty.write(slot)
      this.#tellKey(key)
    }
  }

  /** Fills an empty table from its checkpoint, row by row; `restored` sorts them at the end. */
  restore(key: string, stored: RestoredRow): void {
    const { header, body } = stored
    const [createIndex, modifyIndex] = header
    const isHeld = typeof body !== 'string'
    const text = { ...IN_ONE, body: isHeld ? '' : body }
    const slot = this.#newSlot(key, { indexes: [createIndex, modifyIndex], text })
    if (isHeld) slot.held = body
    this.#groups.move(slot.place, this.#groupKeys(stored))
    this.#slots.set(key, slot)
  }

  /** Ends a series of `restore` calls. */
  restored(): void {
    const slots = this.#placed.filter((slot) => slot !== undefined)
    this.#byKey.assign(slots)
    this.#byCreation?.assignSorted(inOrderOfCreation(slots))
  }

  #insert(key: string, written: WrittenRow<Row>): Undo {
    const slot = this.#newSlot(key, written)
    this.#link(slot)
    this.#fillSlot(slot, written)
    this.#dirty.write(slot)
    return () => void this.delete(key)
  }

  #newSlot(key: string, { indexes: [createIndex, modifyIndex], text }: WrittenRow<Row>): Slot<Row> {
    const { common, steady, body } = text
    const state = { held: undefined, row: undefined, round: CLEAN, place: 0 }
    const slot: Slot<Row> = { key, createIndex, modifyIndex, common, steady, body, ...state }
    this.#putInPlace(slot)
    return slot
  }

  #putInPlace(slot: Slot<Row>): void {
    slot.place = this.#groups.takePlace()
    this.#placed[slot.place] = slot
  }

  #headerOf({ createIndex, modifyIndex, place }: Slot<Row>): RowHeader {
    return [createIndex, modifyIndex, this.#layout, ...this.#groups.keysAt(place)]
  }

  #inParts(slot: Slot<Row>): StringChunks {
    return encodeRow(this.#headerOf(slot), slot.held === undefined ? slot : inOne(slot.held.text()))
  }

  #link(slot: Slot<Row>): void {
    this.#slots.set(slot.key, slot)
    this.#byKey.add(slot)
    this.#byCreation?.add(slot)
  }

  #fillSlot(slot: Slot<Row>, { indexes, text, row }: WrittenRow<Row>): void {
    const isKept = slot.row !== undefined
    slot.modifyIndex = indexes[1]
    slot.common = text.common
    slot.steady = text.steady
    slot.body = text.body
    slot.held = undefined
    // The text was made from a Row of this table, by this version or one before.
    this.#groups.move(slot.place, this.#groupsOf(row ?? (JSON.parse(wholeText(text)) as Row)))
    // One that is kept already stays in its place among those.
    if (isKept) slot.row = row
    else if (row !== undefined) keepDecoded(this.#written, slot, row)
    this.#tellKey(slot.key)
  }

  #tellKey(key: string): void {
    for (const listener of this.#keyListeners) listener(key)
  }

  #decode(slot: Slot<Row>): Row {
    if (slot.row !== undefined) return slot.row
    // The text was made from a Row of this table, and nothing else writes texts.
    const row = JSON.parse(textIn(slot)) as Row
    keepDecoded(this.#decoded, slot, row)
    return row
  }

  #indexAt(index: string): number {
    const at = this.#groupNames.indexOf(index)
    assert(at !== -1, `${this.spec.name} has an index ${index}`)
    return at
  }

  /**
   * The group keys in a row's header; worked out from the row when the header has another layout.
   */
  #groupKeys({ header, body }: RestoredRow): readonly (string | null)[] {
    const [, , layout, ...keys] = header
    if (layout === this.#layout) return keys
    // The text was made from a Row of this table, by this version or one before.
    return this.#groupsOf(JSON.parse(textOf(body)) as Row)
  }

  #groupsOf(row: Row): (string | null)[] {
    return this.#groupFunctions.map((groupOf) => groupOf(row) ?? null)
  }
}

/** The row and its text as it is kept; undefined when either is not at hand. */
export function decodedText<Row>(entry: Entry<Row>): TextedRow<Row> | undefined {
  if (entry.row === undefined || entry.held !== undefined) return undefined
  return { row: entry.row, text: entry }
}

function inOne(body: string): RowText {
  return { ...IN_ONE, body }
}

function textIn<Row>(slot: Slot<Row>): string {
  return slot.held === undefined ? wholeText(slot) : slot.held.text()
}

/** Two ways to keep the keys of a table in order. */
type KeyOrder = BucketedKeys<OrderKey> | LazySortedKeys<OrderKey>

/** A few characters that differ when the indexes do (FNV-1a). */
function layoutOf(names: readonly string[]): string {
  let hash = 0x811c9dc5
  for (const char of names.join(',')) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  return (hash >>> 0).toString(36)
}
