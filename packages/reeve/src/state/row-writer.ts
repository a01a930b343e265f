import {
  UNSPLIT,
  encodeSplitRow,
  type RowSplit,
  type RowJson,
  type EncodedRow,
} from './table/row-json.ts'
import type { RowIndexes } from './commit.ts'
import type { TableName, TableObserver } from './schema/tables.ts'
import type { RowIndexFields } from './table/table.ts'

/** A row as passed by the caller, as stored, and encoded. */
interface EncodedInput extends EncodedRow {
  readonly input: object | undefined
  readonly rowSplit: RowSplit<object> | undefined
}

const NOTHING_ENCODED: EncodedInput = {
  input: undefined,
  rowSplit: undefined,
  row: {},
  text: { ...UNSPLIT, body: '' },
}

interface EncodeOptions {
  readonly indexes: RowIndexes
  readonly stamped: boolean
  /** How rows of the table are split; undefined if they are not. */
  readonly rowSplit?: RowSplit<object> | undefined
  /** The previous row, if it is decoded. */
  readonly previous?: EncodedRow | undefined
}

/** Adds the indexes to rows and encodes them. */
export class RowEncoder {
  readonly #freezeRows: boolean
  #last: EncodedInput = NOTHING_ENCODED

  constructor(freezeRows: boolean) {
    this.#freezeRows = freezeRows
  }

  /**
   * Returns the row with its indexes and its JSON. A job and its version are the same object,
   * written one after the other, and share the result.
   */
  encode(input: object, options: EncodeOptions): EncodedInput {
    const last = this.#last
    const { stamped, rowSplit } = options
    const [CreateIndex, ModifyIndex] = options.indexes
    const stamps = { CreateIndex, ModifyIndex }
    if (last.input === input && (!stamped || hasIndexFields(last.row, stamps))) return last
    const row = !stamped || hasIndexFields(input, stamps) ? input : { ...input, ...stamps }
    if (this.#freezeRows) deepFreeze(row)
    const text =
      rowSplit === undefined ? unsplit(row) : this.#encodeSplit(row, rowSplit, options.previous)
    this.#last = { input, rowSplit, row, text }
    return this.#last
  }

  /** Ends the commit: the next one shares nothing with it. */
  reset(): void {
    this.#last = NOTHING_ENCODED
  }

  #encodeSplit(row: object, rowSplit: RowSplit<object>, previous: EncodedRow | undefined): RowJson {
    // Rows of one plan are adjacent and have much in common.
    const neighbour = this.#last.rowSplit === rowSplit ? this.#last : undefined
    return encodeSplitRow(row, rowSplit, { previous, neighbour })
  }
}

function unsplit(row: object): RowJson {
  return { ...UNSPLIT, body: JSON.stringify(row) }
}

/** True if the caller already set the indexes, so that the row need not be copied. */
function hasIndexFields(row: object, { CreateIndex, ModifyIndex }: RowIndexFields): boolean {
  return (
    Reflect.get(row, 'CreateIndex') === CreateIndex &&
    Reflect.get(row, 'ModifyIndex') === ModifyIndex
  )
}

function deepFreeze(value: object): void {
  Object.freeze(value)
  for (const inner of Object.values(value))
    if (typeof inner === 'object' && inner !== null && !Object.isFrozen(inner)) deepFreeze(inner)
}

/** Observers of one table. They receive its rows only, which the types cannot express. */
type Observers = readonly TableObserver<never>[]

const NO_OBSERVERS: Observers = []

/** The observers of all tables. */
export class TableObservers {
  readonly #observers = new Map<TableName, Observers>()

  /** Reports changes of a table to an observer until the returned function is called. */
  add<N extends TableName>(table: N, observer: TableObserver<N>): () => void {
    // An observer receives rows of its own table only.
    const typedObserver = observer as TableObserver<never>
    this.#observers.set(table, [...this.of(table), typedObserver])
    return () => {
      const others = this.of(table).filter((one) => one !== typedObserver)
      this.#observers.set(table, others)
    }
  }

  of(table: TableName): Observers {
    return this.#observers.get(table) ?? NO_OBSERVERS
  }

  /** Tells all observers that commits were rolled back. */
  reset(): void {
    for (const observer of [...this.#observers.values()].flat()) observer.reset()
  }
}

export function notifyObservers(
  observers: Observers,
  before: object | undefined,
  after: object | undefined,
): void {
  // Rows of the table that the observers subscribed to.
  for (const observer of observers) observer.changed(before as never, after as never)
}
