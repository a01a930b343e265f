import { joinRowJson, type RowSplit, type RowJson } from './row-text.ts'

/**
 * Number of shared texts kept for reuse between rows. Rows of a plan are adjacent, so few suffice.
 */
const SHARED_TEXTS_MAX = 4_096

/**
 * Copies row texts that were read from the log, so that they do not keep the log in memory. The
 * engine represents a line of a commit as a slice of the whole commit: one row of a plan would keep
 * a thousand allocations alive. Split rows are split again, so that a restarted server stores what
 * allocations have in common only once, as before.
 */
export class DetachedTexts {
  readonly #sharedTexts = new Map<string, string>()
  #last: { readonly read: RowJson; readonly own: RowJson } | undefined

  /** Returns an independent copy of the text. `row` is the decoded text. */
  detach<Row extends object>(
    source: RowJson,
    row: Row,
    rowSplit: RowSplit<Row> | undefined,
  ): RowJson {
    // A job and its version share one text.
    if (this.#last?.read === source) return this.#last.own
    const detached =
      (rowSplit && this.#splitText(joinRowJson(source), row, rowSplit)) ?? detachText(source)
    this.#last = { read: source, own: detached }
    return detached
  }

  /** Undefined if an earlier version wrote the fields in another order. */
  #splitText<Row extends object>(
    whole: string,
    row: Row,
    rowSplit: RowSplit<Row>,
  ): RowJson | undefined {
    const text = {
      common: this.#intern(JSON.stringify(rowSplit.common(row))),
      steady: JSON.stringify(rowSplit.steady(row)),
      body: JSON.stringify(rowSplit.rest(row)),
    }
    return joinRowJson(text) === whole ? text : undefined
  }

  #intern(text: string): string {
    const existing = this.#sharedTexts.get(text)
    if (existing !== undefined) return existing
    if (this.#sharedTexts.size >= SHARED_TEXTS_MAX) this.#sharedTexts.clear()
    this.#sharedTexts.set(text, text)
    return text
  }
}

function detachText({ common, steady, body }: RowJson): RowJson {
  // Concatenating and slicing copies the characters; slicing alone would keep the original string.
  return { common, steady, body: ` ${body}`.slice(1) }
}
