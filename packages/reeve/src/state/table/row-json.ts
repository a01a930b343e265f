/**
 * JSON of a row in up to three objects. In tables with many large rows, fields that many rows share
 * are stored once for all of them, and fields that seldom change are not encoded again on each
 * change.
 */
export interface RowJson {
  /** Empty if the row is not split. */
  readonly common: string
  /** Empty if the row is not split. */
  readonly steady: string
  readonly body: string
}

/**
 * Assigns the fields of a table to the parts of `RowJson`. Written as functions, because looking up
 * fields by name would cost more than it saves.
 */
export interface RowSplit<Row> {
  /** Fields that are equal in rows created together. Every row has at least one. */
  readonly common: (row: Row) => object
  readonly agreeInCommon: (a: Row, b: Row) => boolean
  /** Fields that seldom change. Every row has at least one. */
  readonly steady: (row: Row) => object
  readonly agreeInSteady: (a: Row, b: Row) => boolean
  /** All others. */
  readonly rest: (row: Row) => object
}

const EMPTY_OBJECT = '{}'

/** Parts of a row that is not split. */
export const UNSPLIT = { common: '', steady: '' } as const

/** JSON of the whole row. */
export function joinRowJson({ common, steady, body }: RowJson): string {
  if (common === '') return body
  if (body === EMPTY_OBJECT) return `${common.slice(0, -1)},${steady.slice(1)}`
  return `${common.slice(0, -1)},${steady.slice(1, -1)},${body.slice(1)}`
}

/**
 * Appends the JSON of the whole row in chunks, which callers that write to a stream need not join.
 */
export function pushRowJson(parts: string[], { common, steady, body }: RowJson): void {
  if (common === '') parts.push(body)
  else if (body === EMPTY_OBJECT) parts.push(common.slice(0, -1), ',', steady.slice(1))
  else parts.push(common.slice(0, -1), ',', steady.slice(1, -1), ',', body.slice(1))
}

export function isSameText(a: RowJson, b: RowJson): boolean {
  return a === b || (a.body === b.body && a.steady === b.steady && a.common === b.common)
}

export function jsonLength({ common, steady, body }: RowJson): number {
  return common.length + steady.length + body.length
}

/** A row and its JSON. */
export interface EncodedRow<Row = object> {
  readonly row: Row
  readonly text: RowJson
}

/** Encoded rows whose parts may be reused. */
interface ReusableRows<Row> {
  readonly previous?: EncodedRow<Row> | undefined
  readonly neighbour?: EncodedRow<Row> | undefined
}

/**
 * Encodes a split row. Reuses the parts of its previous value, or of the last written row, if their
 * fields are identical.
 */
export function encodeSplitRow<Row extends object>(
  row: Row,
  rowSplit: RowSplit<Row>,
  { previous, neighbour }: ReusableRows<Row>,
): RowJson {
  return {
    common:
      reusableShared(row, rowSplit, previous) ??
      reusableShared(row, rowSplit, neighbour) ??
      JSON.stringify(rowSplit.common(row)),
    steady: reusableStable(row, rowSplit, previous) ?? JSON.stringify(rowSplit.steady(row)),
    body: JSON.stringify(rowSplit.rest(row)),
  }
}

function reusableShared<Row extends object>(
  row: Row,
  rowSplit: RowSplit<Row>,
  candidate: EncodedRow<Row> | undefined,
): string | undefined {
  if (candidate === undefined || candidate.text.common === '') return undefined
  return rowSplit.agreeInCommon(row, candidate.row) ? candidate.text.common : undefined
}

function reusableStable<Row extends object>(
  row: Row,
  rowSplit: RowSplit<Row>,
  candidate: EncodedRow<Row> | undefined,
): string | undefined {
  if (candidate === undefined || candidate.text.steady === '') return undefined
  return rowSplit.agreeInSteady(row, candidate.row) ? candidate.text.steady : undefined
}

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

  #evictOldest(): void {
    for (const oldest of this.#sharedTexts.keys()) {
      this.#sharedTexts.delete(oldest)
      return
    }
  }

  #intern(text: string): string {
    const existing = this.#sharedTexts.get(text)
    if (existing !== undefined) return existing
    if (this.#sharedTexts.size >= SHARED_TEXTS_MAX) this.#evictOldest()
    this.#sharedTexts.set(text, text)
    return text
  }
}

function detachText({ common, steady, body }: RowJson): RowJson {
  // Concatenating and slicing copies the characters; slicing alone would keep the original string.
  return { common, steady, body: ` ${body}`.slice(1) }
}
