import { IN_ONE, textInPieces, type RowPieces, type RowText, type TextedRow } from './row-text.ts'
import type { RowIndexes } from './stored-row.ts'
import type { RowStamps } from './table.ts'

/** A row as it was given, as it is stored, and its text. */
interface WrittenRow extends TextedRow {
  readonly given: object | undefined
  readonly pieces: RowPieces<object> | undefined
}

const NOTHING_WRITTEN: WrittenRow = {
  given: undefined,
  pieces: undefined,
  row: {},
  text: { ...IN_ONE, body: '' },
}

interface Writing {
  readonly indexes: RowIndexes
  readonly stamped: boolean
  /** How the rows of its table are taken apart; undefined when they are one text. */
  readonly pieces?: RowPieces<object> | undefined
  /** The row as it is, where it is at hand. */
  readonly before?: TextedRow | undefined
}

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
  write(given: object, writing: Writing): WrittenRow {
    const last = this.#last
    const { stamped, pieces } = writing
    const [CreateIndex, ModifyIndex] = writing.indexes
    const stamps = { CreateIndex, ModifyIndex }
    if (last.given === given && (!stamped || hasStamps(last.row, stamps))) return last
    const row = !stamped || hasStamps(given, stamps) ? given : { ...given, ...stamps }
    if (this.#freezeRows) deepFreeze(row)
    const text = pieces === undefined ? inOne(row) : this.#inPieces(row, pieces, writing.before)
    this.#last = { given, pieces, row, text }
    return this.#last
  }

  /** The commit is over: the next one shares nothing with it. */
  forget(): void {
    this.#last = NOTHING_WRITTEN
  }

  #inPieces(row: object, pieces: RowPieces<object>, before: TextedRow | undefined): RowText {
    // Rows of one plan follow each other, and have much in common.
    const beside = this.#last.pieces === pieces ? this.#last : undefined
    return textInPieces(row, pieces, { before, beside })
  }
}

function inOne(row: object): RowText {
  return { ...IN_ONE, body: JSON.stringify(row) }
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
