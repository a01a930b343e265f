import type { RowIndexes, RowStamps } from './table.ts'

/** A row as it was given, as it is stored, and its text. */
interface WrittenRow {
  readonly given: object | undefined
  readonly row: object
  readonly body: string
}

const NOTHING_WRITTEN: WrittenRow = { given: undefined, row: {}, body: '' }

/** Stamps rows and makes their texts. */
export class RowWriter {
  readonly #freezeRows: boolean
  #last: WrittenRow = NOTHING_WRITTEN

  constructor(freezeRows: boolean) {
    this.#freezeRows = freezeRows
  }

  /**
   * The row with its stamps, and its text. A job and its version are one object, written one after
   * the other: one row and one text serve both.
   */
  write(given: object, [CreateIndex, ModifyIndex]: RowIndexes, stamped: boolean): WrittenRow {
    const last = this.#last
    const stamps = { CreateIndex, ModifyIndex }
    if (last.given === given && (!stamped || hasStamps(last.row, stamps))) return last
    const row = !stamped || hasStamps(given, stamps) ? given : { ...given, ...stamps }
    if (this.#freezeRows) deepFreeze(row)
    this.#last = { given, row, body: JSON.stringify(row) }
    return this.#last
  }

  /** The commit is over: the next one shares nothing with it. */
  forget(): void {
    this.#last = NOTHING_WRITTEN
  }
}

/** Whoever knows the stamp may have written it into the row: then it need not be copied. */
function hasStamps(row: object, { CreateIndex, ModifyIndex }: RowStamps): boolean {
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
