import { ShardedMap } from './sharded-map.ts'

/** The rows of one group: a chain of places. */
interface Group {
  readonly id: number
  readonly key: string
  first: number
  last: number
  size: number
}

/** One secondary index. */
interface Index {
  readonly byKey: ShardedMap<Group>
  /** The group of an id; nobody has id 0. */
  readonly byId: (Group | undefined)[]
  readonly freeIds: number[]
  /** Where its cells begin among those of a place. */
  readonly at: number
}

interface Move {
  readonly key: string | undefined
  readonly like: number
}

/** No group and no row: what lies outside of an array takes long to find, so it is inside. */
const NONE = 0
const FIRST_PLACE = 1
const PLACES_MIN = 16

/** The cells of a row for one index: the group's id, and the row's neighbours there. */
const ID = 0
const NEXT = 1
const BEFORE = 2
const CELLS = 3

/** The groups of a row that is in none. */
const NO_GROUPS: readonly null[] = []

/**
 * The secondary indexes of a table: which rows are in which groups. A row is its place, a small
 * number that is given again when the row is gone. The chains are numbers in one array, which the
 * collector does not look into: as arrays of rows in each group and of groups in each row they were
 * half of the time in which a million rows are loaded (bench/state.bench.ts).
 */
export class RowGroups {
  readonly #indexes: readonly Index[]
  readonly #width: number
  #cells: Int32Array<ArrayBuffer>
  readonly #freePlaces: number[] = []
  #nextPlace = FIRST_PLACE

  constructor(indexes: number) {
    this.#width = indexes * CELLS
    this.#indexes = Array.from({ length: indexes }, (_, i) => {
      return { byKey: new ShardedMap(), byId: [undefined], freeIds: [], at: i * CELLS }
    })
    this.#cells = new Int32Array(PLACES_MIN * this.#width)
  }

  /** A place for a new row, which is in no group yet. */
  takePlace(): number {
    const place = this.#freePlaces.pop() ?? this.#nextPlace++
    if ((place + 1) * this.#width > this.#cells.length) this.#grow()
    return place
  }

  /** The row is gone, from its groups too. */
  leavePlace(place: number): void {
    this.move(place, NO_GROUPS)
    this.#freePlaces.push(place)
  }

  /** The group that a row is in. */
  keyAt(index: number, place: number): string | undefined {
    const one = this.#indexes[index]
    return one?.byId[this.#cells[place * this.#width + one.at + ID] ?? NONE]?.key
  }

  /** The groups that a row is in, for each index. */
  keysAt(place: number): (string | null)[] {
    const keys: (string | null)[] = []
    for (let i = 0; i < this.#indexes.length; i++) keys.push(this.keyAt(i, place) ?? null)
    return keys
  }

  size(index: number, key: string): number {
    return this.#indexes[index]?.byKey.get(key)?.size ?? 0
  }

  /** The places of a group's rows, in the order in which they entered it. */
  *places(index: number, key: string): Generator<number> {
    const one = this.#indexes[index]
    const group = one?.byKey.get(key)
    if (one === undefined || group === undefined) return
    const next = one.at + NEXT
    for (let place = group.first; place !== NONE;) {
      yield place
      place = this.#cells[place * this.#width + next] ?? NONE
    }
  }

  /** Puts a row into the groups of these keys; it leaves those where it has another one now. */
  move(place: number, keys: readonly (string | null)[]): void {
    // Rows that share their first group often share the others, and are next to each other.
    let like = NONE
    for (let i = 0; i < this.#indexes.length; i++) {
      const index = this.#indexes[i]
      if (index === undefined) continue
      this.#moveIn(index, place, { key: keys[i] ?? undefined, like })
      if (like === NONE) like = this.#cells[place * this.#width + index.at + BEFORE] ?? NONE
    }
  }

  /** `like` is a row that is probably in the same group: to look there takes less time. */
  #moveIn(index: Index, place: number, { key, like }: Move): void {
    const { byId, byKey, at } = index
    const group = byId[this.#cells[place * this.#width + at + ID] ?? NONE]
    if (group?.key === key) return
    if (group !== undefined) this.#leave(index, group, place)
    if (key === undefined) return
    const likely = byId[this.#cells[like * this.#width + at + ID] ?? NONE]
    this.#enter(index, likely?.key === key ? likely : (byKey.get(key) ?? make(index, key)), place)
  }

  #enter(index: Index, group: Group, place: number): void {
    const cells = this.#cells
    const cell = place * this.#width + index.at
    cells[cell + ID] = group.id
    cells[cell + BEFORE] = group.last
    cells[cell + NEXT] = NONE
    if (group.last === NONE) group.first = place
    else cells[group.last * this.#width + index.at + NEXT] = place
    group.last = place
    group.size++
  }

  #leave(index: Index, group: Group, place: number): void {
    const cells = this.#cells
    const cell = place * this.#width + index.at
    const next = cells[cell + NEXT] ?? NONE
    const before = cells[cell + BEFORE] ?? NONE
    if (before === NONE) group.first = next
    else cells[before * this.#width + index.at + NEXT] = next
    if (next === NONE) group.last = before
    else cells[next * this.#width + index.at + BEFORE] = before
    cells.fill(NONE, cell, cell + CELLS)
    group.size--
    if (group.size > 0) return
    index.byKey.delete(group.key)
    index.byId[group.id] = undefined
    index.freeIds.push(group.id)
  }

  #grow(): void {
    const cells = new Int32Array(this.#cells.length * 2)
    cells.set(this.#cells)
    this.#cells = cells
  }
}

function make(index: Index, key: string): Group {
  const id = index.freeIds.pop() ?? index.byId.length
  const group = { id, key, first: NONE, last: NONE, size: 0 }
  index.byId[id] = group
  index.byKey.set(key, group)
  return group
}
