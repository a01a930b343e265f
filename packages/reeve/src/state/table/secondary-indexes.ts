import { ShardedMap } from './sharded-map.ts'

/** Rows with the same index key, as a doubly linked list. */
interface RowList {
  readonly id: number
  readonly key: string
  first: number
  last: number
  size: number
}

/** One secondary index. */
interface SecondaryIndex {
  readonly byKey: ShardedMap<RowList>
  /** List by ID; ID 0 is unused. */
  readonly byId: (RowList | undefined)[]
  readonly freeIds: number[]
  /** Offset of this index within the cells of a row. */
  readonly cellOffset: number
}

interface KeyUpdate {
  readonly key: string | undefined
  readonly hintRowId: number
}

/**
 * Row 0 and list 0 mean "none": an in-bounds marker, because out-of-bounds typed-array reads are
 * slow.
 */
const NONE = 0
const FIRST_ROW_ID = 1
const INITIAL_ROWS = 16

/** Cells of a row for one index: list ID, next row and previous row. */
const LIST_ID = 0
const NEXT = 1
const PREVIOUS = 2
const CELLS_PER_INDEX = 3

/** Index keys of a row that is in no index. */
const NO_KEYS: readonly null[] = []

/**
 * Secondary indexes of a table. Rows have small numeric IDs, which are reused after a delete. The
 * linked lists are numbers in one typed array, which the garbage collector does not scan; as arrays
 * of objects they took half of the time in which a million rows are loaded (bench/state.bench.ts).
 */
export class SecondaryIndexes {
  readonly #indexes: readonly SecondaryIndex[]
  readonly #width: number
  #cells: Int32Array<ArrayBuffer>
  readonly #freeRowIds: number[] = []
  #nextRowId = FIRST_ROW_ID

  constructor(indexes: number) {
    this.#width = indexes * CELLS_PER_INDEX
    this.#indexes = Array.from({ length: indexes }, (_, i) => {
      return {
        byKey: new ShardedMap(),
        byId: [undefined],
        freeIds: [],
        cellOffset: i * CELLS_PER_INDEX,
      }
    })
    this.#cells = new Int32Array(INITIAL_ROWS * this.#width)
  }

  /** Allocates the ID of a new row, which is in no index yet. */
  allocateRowId(): number {
    const rowId = this.#freeRowIds.pop() ?? this.#nextRowId++
    if ((rowId + 1) * this.#width > this.#cells.length) this.#grow()
    return rowId
  }

  /** Removes the row from all indexes and frees its ID. */
  freeRowId(rowId: number): void {
    this.reindex(rowId, NO_KEYS)
    this.#freeRowIds.push(rowId)
  }

  /** Index key of a row. */
  indexKey(index: number, rowId: number): string | undefined {
    const secondaryIndex = this.#indexes[index]
    return secondaryIndex?.byId[
      this.#cells[rowId * this.#width + secondaryIndex.cellOffset + LIST_ID] ?? NONE
    ]?.key
  }

  /** Index keys of a row, one per index. */
  indexKeys(rowId: number): (string | null)[] {
    const keys: (string | null)[] = []
    for (let i = 0; i < this.#indexes.length; i++) keys.push(this.indexKey(i, rowId) ?? null)
    return keys
  }

  size(index: number, key: string): number {
    return this.#indexes[index]?.byKey.get(key)?.size ?? 0
  }

  /** IDs of the rows with a key, in the order in which they got it. */
  *rowIds(index: number, key: string): Generator<number> {
    const secondaryIndex = this.#indexes[index]
    const list = secondaryIndex?.byKey.get(key)
    if (secondaryIndex === undefined || list === undefined) return
    const next = secondaryIndex.cellOffset + NEXT
    for (let rowId = list.first; rowId !== NONE;) {
      yield rowId
      rowId = this.#cells[rowId * this.#width + next] ?? NONE
    }
  }

  /** Sets the index keys of a row; removes it from lists of changed keys. */
  reindex(rowId: number, keys: readonly (string | null)[]): void {
    // Rows that share their first key often share the others and are neighbours.
    let hintRowId = NONE
    for (let i = 0; i < this.#indexes.length; i++) {
      const index = this.#indexes[i]
      if (index === undefined) continue
      this.#setKey(index, rowId, { key: keys[i] ?? undefined, hintRowId })
      if (hintRowId === NONE)
        hintRowId = this.#cells[rowId * this.#width + index.cellOffset + PREVIOUS] ?? NONE
    }
  }

  /** `like` is a row that probably has the same key: comparing with it avoids a lookup. */
  #setKey(index: SecondaryIndex, rowId: number, { key, hintRowId }: KeyUpdate): void {
    const { byId, byKey, cellOffset } = index
    const list = byId[this.#cells[rowId * this.#width + cellOffset + LIST_ID] ?? NONE]
    if (list?.key === key) return
    if (list !== undefined) this.#unlink(index, list, rowId)
    if (key === undefined) return
    const hintedList = byId[this.#cells[hintRowId * this.#width + cellOffset + LIST_ID] ?? NONE]
    this.#append(
      index,
      hintedList?.key === key ? hintedList : (byKey.get(key) ?? createRowList(index, key)),
      rowId,
    )
  }

  #append(index: SecondaryIndex, list: RowList, rowId: number): void {
    const cells = this.#cells
    const cell = rowId * this.#width + index.cellOffset
    cells[cell + LIST_ID] = list.id
    cells[cell + PREVIOUS] = list.last
    cells[cell + NEXT] = NONE
    if (list.last === NONE) list.first = rowId
    else cells[list.last * this.#width + index.cellOffset + NEXT] = rowId
    list.last = rowId
    list.size++
  }

  #unlink(index: SecondaryIndex, list: RowList, rowId: number): void {
    const cells = this.#cells
    const cell = rowId * this.#width + index.cellOffset
    const next = cells[cell + NEXT] ?? NONE
    const previous = cells[cell + PREVIOUS] ?? NONE
    if (previous === NONE) list.first = next
    else cells[previous * this.#width + index.cellOffset + NEXT] = next
    if (next === NONE) list.last = previous
    else cells[next * this.#width + index.cellOffset + PREVIOUS] = previous
    cells.fill(NONE, cell, cell + CELLS_PER_INDEX)
    list.size--
    if (list.size > 0) return
    index.byKey.delete(list.key)
    index.byId[list.id] = undefined
    index.freeIds.push(list.id)
  }

  #grow(): void {
    const cells = new Int32Array(this.#cells.length * 2)
    cells.set(this.#cells)
    this.#cells = cells
  }
}

function createRowList(index: SecondaryIndex, key: string): RowList {
  const id = index.freeIds.pop() ?? index.byId.length
  const group = { id, key, first: NONE, last: NONE, size: 0 }
  index.byId[id] = group
  index.byKey.set(key, group)
  return group
}
