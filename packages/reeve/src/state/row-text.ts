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

/** Which fields of a table's rows go into which piece; all others go into the last. */
export interface RowPieces {
  /** Rows that are made together agree in these. Every row has the first of them. */
  readonly common: readonly string[]
  /** They seldom change while the row lives. Every row has the first of them. */
  readonly steady: readonly string[]
}

/** A row as one text. */
export function wholeText({ common, steady, body }: RowText): string {
  if (common === '') return body
  const lead = `${common.slice(0, -1)},${steady.slice(1)}`
  return body === NO_FIELDS ? lead : `${lead.slice(0, -1)},${body.slice(1)}`
}

const NO_FIELDS = '{}'

/** A row and its text. */
export interface TextedRow {
  readonly row: object
  readonly text: RowText
}

/**
 * The text of a row. Pieces are taken over from the first of `known` that has the very same values
 * in their fields.
 */
export function textInPieces(
  row: object,
  pieces: RowPieces,
  known: readonly (TextedRow | undefined)[],
): RowText {
  return {
    common: pieceOf(row, pieces, 'common', known),
    steady: pieceOf(row, pieces, 'steady', known),
    body: JSON.stringify(restOf(row, pieces)),
  }
}

function pieceOf(
  row: object,
  pieces: RowPieces,
  name: 'common' | 'steady',
  known: readonly (TextedRow | undefined)[],
): string {
  const fields = pieces[name]
  for (const one of known)
    if (one !== undefined && one.text[name] !== '' && agree(row, one.row, fields))
      return one.text[name]
  const piece: Record<string, unknown> = {}
  for (const field of fields) piece[field] = Reflect.get(row, field)
  return JSON.stringify(piece)
}

function agree(a: object, b: object, fields: readonly string[]): boolean {
  for (const field of fields) if (Reflect.get(a, field) !== Reflect.get(b, field)) return false
  return true
}

function restOf(row: object, { common, steady }: RowPieces): object {
  const rest: Record<string, unknown> = {}
  for (const [field, value] of Object.entries(row))
    if (!common.includes(field) && !steady.includes(field)) rest[field] = value
  return rest
}
