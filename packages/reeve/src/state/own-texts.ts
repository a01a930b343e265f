import { wholeText, type RowPieces, type RowText } from './row-text.ts'

/** Texts that rows of different commits may share. A plan's rows come together, so few suffice. */
const COMMON_TEXTS_MAX = 4_096

/**
 * Makes the texts of rows that were read from the log independent of it. A line of a commit is a
 * slice of the whole commit for the engine of the language: one row of a plan of a thousand
 * allocations would keep all of them in memory. Rows in pieces become pieces again, so that a
 * server that was restarted keeps what its allocations have in common once, as it did before.
 */
export class OwnTexts {
  readonly #common = new Map<string, string>()
  #last: { readonly read: RowText; readonly own: RowText } | undefined

  /** The same text, in memory of its own. `row` is the decoded text. */
  own<Row extends object>(read: RowText, row: Row, pieces: RowPieces<Row> | undefined): RowText {
    // A job and its version have one text.
    if (this.#last?.read === read) return this.#last.own
    const own = (pieces && this.#inPieces(wholeText(read), row, pieces)) ?? detached(read)
    this.#last = { read, own }
    return own
  }

  /** Undefined where an earlier version wrote the fields in another order. */
  #inPieces<Row extends object>(
    whole: string,
    row: Row,
    pieces: RowPieces<Row>,
  ): RowText | undefined {
    const text = {
      common: this.#shared(JSON.stringify(pieces.common(row))),
      steady: JSON.stringify(pieces.steady(row)),
      body: JSON.stringify(pieces.rest(row)),
    }
    return wholeText(text) === whole ? text : undefined
  }

  #shared(text: string): string {
    const known = this.#common.get(text)
    if (known !== undefined) return known
    if (this.#common.size >= COMMON_TEXTS_MAX) this.#common.clear()
    this.#common.set(text, text)
    return text
  }
}

function detached({ common, steady, body }: RowText): RowText {
  // Joining and cutting copies the characters: a text that is only cut keeps the one it is from.
  return { common, steady, body: ` ${body}`.slice(1) }
}
