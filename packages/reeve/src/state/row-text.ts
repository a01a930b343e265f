/**
 * The text of a row in up to three pieces, each an object of JSON. Of a table with many large rows,
 * what many rows have in common is one text for all of them, and what stays while a row changes is
 * not written anew with each change.
 */
export interface RowText {
  /** Empty where the row is one piece. */
  readonly common: string
  /** Empty where the row is one piece. */
  readonly steady: string
  readonly body: string
}

/**
 * Which fields of a table's rows go into which piece. Written out as functions: to look fields up
 * by name would cost more than is won.
 */
export interface RowPieces<Row> {
  /** Fields in which rows that are made together agree. Every row has one of them. */
  readonly common: (row: Row) => object
  readonly agreeInCommon: (a: Row, b: Row) => boolean
  /** Fields that seldom change while the row lives. Every row has one of them. */
  readonly steady: (row: Row) => object
  readonly agreeInSteady: (a: Row, b: Row) => boolean
  /** All others. */
  readonly rest: (row: Row) => object
}

const NO_FIELDS = '{}'

/** The pieces of a row that is one text. */
export const IN_ONE = { common: '', steady: '' } as const

/** A row as one text. */
export function wholeText({ common, steady, body }: RowText): string {
  if (common === '') return body
  if (body === NO_FIELDS) return `${common.slice(0, -1)},${steady.slice(1)}`
  return `${common.slice(0, -1)},${steady.slice(1, -1)},${body.slice(1)}`
}

/** The same as parts that follow each other: whoever writes them in a row need not join them. */
export function addWholeText(parts: string[], { common, steady, body }: RowText): void {
  if (common === '') parts.push(body)
  else if (body === NO_FIELDS) parts.push(common.slice(0, -1), ',', steady.slice(1))
  else parts.push(common.slice(0, -1), ',', steady.slice(1, -1), ',', body.slice(1))
}

export function isSameText(a: RowText, b: RowText): boolean {
  return a === b || (a.body === b.body && a.steady === b.steady && a.common === b.common)
}

export function charsIn({ common, steady, body }: RowText): number {
  return common.length + steady.length + body.length
}

/** A row and its text. */
export interface TextedRow<Row = object> {
  readonly row: Row
  readonly text: RowText
}

/** Rows whose texts are at hand. */
export interface KnownRows<Row> {
  readonly before?: TextedRow<Row> | undefined
  readonly beside?: TextedRow<Row> | undefined
}

/**
 * The text of a row. Pieces are taken over from the row as it was, or from the one that was written
 * last, where those have the very same values in their fields.
 */
export function textInPieces<Row extends object>(
  row: Row,
  pieces: RowPieces<Row>,
  { before, beside }: KnownRows<Row>,
): RowText {
  return {
    common:
      knownCommon(row, pieces, before) ??
      knownCommon(row, pieces, beside) ??
      JSON.stringify(pieces.common(row)),
    steady: knownSteady(row, pieces, before) ?? JSON.stringify(pieces.steady(row)),
    body: JSON.stringify(pieces.rest(row)),
  }
}

function knownCommon<Row extends object>(
  row: Row,
  pieces: RowPieces<Row>,
  known: TextedRow<Row> | undefined,
): string | undefined {
  if (known === undefined || known.text.common === '') return undefined
  return pieces.agreeInCommon(row, known.row) ? known.text.common : undefined
}

function knownSteady<Row extends object>(
  row: Row,
  pieces: RowPieces<Row>,
  known: TextedRow<Row> | undefined,
): string | undefined {
  if (known === undefined || known.text.steady === '') return undefined
  return pieces.agreeInSteady(row, known.row) ? known.text.steady : undefined
}
