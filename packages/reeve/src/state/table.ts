import { assert } from '../kit/fault.ts'
import { compareText, SortedList } from '../kit/sorted-list.ts'

/** How one table keys, groups, orders and keeps its rows. */
export interface TableSpec<Row> {
  readonly name: string
  readonly key: (row: Row) => string
  /** Secondary indexes: the group a row belongs to, or undefined when it is in none. */
  readonly groups: Readonly<Record<string, (row: Row) => string | undefined>>
  /**
   * Also keeps the order of creation: (create index, key). Lists of spec W need it for some tables.
   */
  readonly byCreation: boolean
  /** Rows carry `CreateIndex` and `ModifyIndex`, written by the store. */
  readonly stamped: boolean
  /** How many rows stay decoded. The others are text until somebody reads them. */
  readonly decodedRowsMax: number
}

/**
 * What is known of a row without decoding it: create index, modify index, the layout of what
 * follows, then one group per index.
 */
export type RowHeader = readonly [number, number, string, ...(string | null)[]]

/** A row as commits and checkpoints carry it. */
export interface EncodedRow {
  readonly header: RowHeader
  readonly body: string
}

interface Group {
  readonly key: string
  /** One key as itself: most groups have one member, and a set of one costs two hundred bytes. */
  members: string | Set<string>
}

interface Slot<Row> {
  readonly key: string
  readonly createIndex: number
  modifyIndex: number
  body: string
  row: Row | undefined
  groups: readonly (Group | undefined)[]
}

/** Puts a row back to what it was: used when a commit could not be made durable. */
export type Undo = () => void

/**
 * One table in memory. Rows are kept as text and decoded when read, because a million decoded rows
 * cost three times the memory and ten times the start-up of a million texts (decision 0004).
 */
export class Table<Row extends object> {
  readonly spec: TableSpec<Row>
  readonly #slots = new Map<string, Slot<Row>>()
  readonly #byKey = new SortedList<OrderKey>((a, b) => compareText(a.key, b.key))
  readonly #byCreation: SortedList<OrderKey> | undefined
  readonly #groups: ReadonlyMap<string, Map<string, Group>>
  readonly #groupNames: readonly string[]
  /** Tells rows that were written with other indexes: their groups are worked out anew. */
  readonly #layout: string
  readonly #decoded: (Slot<Row> | undefined)[] = []
  #decodedAt = 0
  /** Index of the last commit that wrote to this table; deletes count. */
  lastIndex = 0

  constructor(spec: TableSpec<Row>) {
    this.spec = spec
    this.#groupNames = Object.keys(spec.groups)
    this.#layout = layoutOf(this.#groupNames)
    this.#groups = new Map(this.#groupNames.map((name) => [name, new Map()]))
    this.#byCreation = spec.byCreation ? new SortedList(compareCreation) : undefined
  }

  get size(): number {
    return this.#slots.size
  }

  has(key: string): boolean {
    return this.#slots.has(key)
  }

  find(key: string): Row | undefined {
    const slot = this.#slots.get(key)
    return slot === undefined ? undefined : this.#decode(slot)
  }

  /** The row of a key that is known to be there. */
  get(key: string): Row {
    const row = this.find(key)
    assert(row !== undefined, `${this.spec.name} holds ${key}`)
    return row
  }

  /** The row's text as committed; saves encoding it again for events and responses. */
  bodyOf(key: string): string | undefined {
    return this.#slots.get(key)?.body
  }

  modifyIndexOf(key: string): number | undefined {
    return this.#slots.get(key)?.modifyIndex
  }

  createIndexOf(key: string): number | undefined {
    return this.#slots.get(key)?.createIndex
  }

  /** Keys of a secondary index's group, in no promised order. */
  keysIn(index: string, group: string): Iterable<string> {
    const members = this.#groupIndex(index).get(group)?.members
    if (members === undefined) return []
    return typeof members === 'string' ? [members] : members
  }

  countIn(index: string, group: string): number {
    const members = this.#groupIndex(index).get(group)?.members
    if (members === undefined) return 0
    return typeof members === 'string' ? 1 : members.size
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

  /** The header and text a new value of a row will have. */
  encode(row: Row, createIndex: number, modifyIndex: number): EncodedRow {
    const groups = this.#groupNames.map((name) => this.spec.groups[name]?.(row) ?? null)
    return {
      header: [createIndex, modifyIndex, this.#layout, ...groups],
      body: JSON.stringify(row),
    }
  }

  /** The stored form of a row; undefined when the key is free. */
  encoded(key: string): EncodedRow | undefined {
    const slot = this.#slots.get(key)
    if (slot === undefined) return undefined
    const groups = slot.groups.map((group) => group?.key ?? null)
    return {
      header: [slot.createIndex, slot.modifyIndex, this.#layout, ...groups],
      body: slot.body,
    }
  }

  /** Writes a row. `row` is its decoded form when the caller has it. */
  put(key: string, encoded: EncodedRow, row?: Row): Undo {
    const [createIndex, modifyIndex] = encoded.header
    const slot = this.#slots.get(key)
    if (slot === undefined || slot.createIndex !== createIndex)
      return this.#insert(key, encoded, row)
    const before = { ...slot }
    this.#leaveGroups(slot)
    this.#fillSlot(slot, encoded, row)
    assert(slot.modifyIndex === modifyIndex, 'a put sets the modify index')
    return () => {
      this.#leaveGroups(slot)
      Object.assign(slot, before)
      this.#joinGroups(slot)
    }
  }

  delete(key: string): Undo {
    const slot = this.#slots.get(key)
    if (slot === undefined) return () => undefined
    this.#slots.delete(key)
    this.#byKey.delete(slot)
    this.#byCreation?.delete(slot)
    this.#leaveGroups(slot)
    return () => this.#link(slot)
  }

  /** Fills an empty table from its checkpoint; the orders are sorted once at the end. */
  restore(rows: Iterable<readonly [string, EncodedRow]>): void {
    for (const [key, encoded] of rows) {
      const slot = this.#newSlot(key, encoded)
      this.#slots.set(key, slot)
    }
  }

  /** Ends a series of `restore` calls. */
  restored(): void {
    const slots = [...this.#slots.values()]
    this.#byKey.assign(slots)
    this.#byCreation?.assign(slots)
  }

  #insert(key: string, encoded: EncodedRow, row: Row | undefined): Undo {
    const undoDelete = this.delete(key)
    const slot = this.#newSlot(key, encoded)
    this.#link(slot)
    if (row !== undefined) this.#keepDecoded(slot, row)
    return () => {
      this.delete(key)
      undoDelete()
    }
  }

  #newSlot(key: string, encoded: EncodedRow): Slot<Row> {
    const [createIndex, modifyIndex] = encoded.header
    const slot: Slot<Row> = {
      key,
      createIndex,
      modifyIndex,
      body: encoded.body,
      row: undefined,
      groups: this.#groupsOf(this.#groupKeys(encoded)),
    }
    this.#enterGroups(slot)
    return slot
  }

  #link(slot: Slot<Row>): void {
    this.#slots.set(slot.key, slot)
    this.#byKey.add(slot)
    this.#byCreation?.add(slot)
    this.#joinGroups(slot)
  }

  #fillSlot(slot: Slot<Row>, encoded: EncodedRow, row: Row | undefined): void {
    slot.modifyIndex = encoded.header[1]
    slot.body = encoded.body
    slot.row = undefined
    slot.groups = this.#groupsOf(this.#groupKeys(encoded))
    this.#enterGroups(slot)
    if (row !== undefined) this.#keepDecoded(slot, row)
  }

  #decode(slot: Slot<Row>): Row {
    if (slot.row !== undefined) return slot.row
    // The text was made by encode() from a Row of this table, and nothing else writes texts.
    const row = JSON.parse(slot.body) as Row
    this.#keepDecoded(slot, row)
    return row
  }

  /** First in, first out: cheap, and what was written or read last is what is read next. */
  #keepDecoded(slot: Slot<Row>, row: Row): void {
    const evicted = this.#decoded[this.#decodedAt]
    if (evicted !== undefined) evicted.row = undefined
    this.#decoded[this.#decodedAt] = slot
    this.#decodedAt = (this.#decodedAt + 1) % this.spec.decodedRowsMax
    slot.row = row
  }

  #groupIndex(index: string): Map<string, Group> {
    const groups = this.#groups.get(index)
    assert(groups !== undefined, `${this.spec.name} has an index ${index}`)
    return groups
  }

  /**
   * The group keys in a row's header; worked out from the row when the header has another layout.
   */
  #groupKeys({ header, body }: EncodedRow): readonly (string | null)[] {
    const [, , layout, ...keys] = header
    if (layout === this.#layout) return keys
    // The text was made by encode() from a Row of this table, by this version or one before.
    const row = JSON.parse(body) as Row
    return this.#groupNames.map((name) => this.spec.groups[name]?.(row) ?? null)
  }

  #groupsOf(keys: readonly (string | null)[]): readonly (Group | undefined)[] {
    return this.#groupNames.map((name, i) => {
      const key = keys[i]
      if (key === undefined || key === null) return undefined
      const groups = this.#groupIndex(name)
      let group = groups.get(key)
      if (group === undefined) groups.set(key, (group = { key, members: '' }))
      return group
    })
  }

  #enterGroups(slot: Slot<Row>): void {
    for (const group of slot.groups) {
      if (group === undefined || group.members === slot.key) continue
      if (group.members === '') group.members = slot.key
      else if (typeof group.members === 'string') group.members = new Set([group.members, slot.key])
      else group.members.add(slot.key)
    }
  }

  /** As enterGroups, for a slot whose groups may have been forgotten when they became empty. */
  #joinGroups(slot: Slot<Row>): void {
    slot.groups = this.#groupsOf(slot.groups.map((group) => group?.key ?? null))
    this.#enterGroups(slot)
  }

  #leaveGroups(slot: Slot<Row>): void {
    slot.groups.forEach((group, i) => {
      if (group === undefined) return
      if (typeof group.members === 'string') group.members = ''
      else group.members.delete(slot.key)
      const empty = typeof group.members === 'string' || group.members.size === 0
      if (empty) this.#groupIndex(this.#groupNames[i] ?? '').delete(group.key)
    })
  }
}

/** A position in one of a table's orders. */
export interface OrderKey {
  readonly key: string
  readonly createIndex: number
}

/** The order of creation: by index, then by key. */
export function compareCreation(a: OrderKey, b: OrderKey): number {
  return a.createIndex - b.createIndex || compareText(a.key, b.key)
}

/** A few characters that differ when the indexes do (FNV-1a). */
function layoutOf(names: readonly string[]): string {
  let hash = 0x811c9dc5
  for (const char of names.join(',')) hash = Math.imul(hash ^ char.charCodeAt(0), 0x01000193)
  return (hash >>> 0).toString(36)
}
