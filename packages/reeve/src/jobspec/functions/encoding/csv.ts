import { err, ok, type Result } from '@reeve/kit/result.ts'
import { makeObject, quoteText, type Value } from '@reeve/hcl'

/**
 * Parses CSV (RFC 4180). The first line names the columns; every other line becomes an object of
 * strings.
 */
export function decodeCsv(source: string): Result<readonly Value[], string> {
  const records = readRecords(source)
  if (!records.ok) return records
  const [header, ...rows] = records.value
  if (header === undefined) return err('the first line with the names of the columns is missing')
  const duplicate = header.fields.find((name, index) => header.fields.indexOf(name) !== index)
  if (duplicate !== undefined) return err(`the column ${quoteText(duplicate)} is named twice`)
  const values: Value[] = []
  for (const { line, fields } of rows) {
    if (fields.length !== header.fields.length)
      return err(`line ${line} has ${fields.length} fields instead of ${header.fields.length}`)
    const entries = header.fields.map((name, index): [string, Value] => [name, fields[index] ?? ''])
    values.push(makeObject(entries))
  }
  return ok(values)
}

interface CsvRow {
  readonly line: number
  readonly fields: readonly string[]
}

/** Skips empty lines. */
function readRecords(source: string): Result<readonly CsvRow[], string> {
  const text = source.replaceAll('\r\n', '\n')
  const rows: CsvRow[] = []
  let line = 1
  for (let at = 0; at < text.length;) {
    if (text[at] === '\n') {
      at++
      line++
      continue
    }
    const row = readRecord(text, at, line)
    if (!row.ok) return row
    rows.push({ line, fields: row.value.fields })
    line += row.value.lineCount
    at = row.value.end
  }
  return ok(rows)
}

interface ParsedRecord {
  readonly fields: readonly string[]
  readonly end: number
  readonly lineCount: number
}

function readRecord(text: string, start: number, line: number): Result<ParsedRecord, string> {
  const fields: string[] = []
  let lineCount = 1
  for (let at = start; ; at++) {
    const field = text[at] === '"' ? readQuoted(text, at, line) : readUnquoted(text, at, line)
    if (!field.ok) return field
    fields.push(field.value.text)
    lineCount += field.value.lineCount
    at = field.value.end
    if (text[at] !== ',') return ok({ fields, end: at + 1, lineCount })
  }
}

interface CsvField {
  readonly text: string
  readonly end: number
  /** Number of line breaks inside. */
  readonly lineCount: number
}

const UNQUOTED_FIELD = /[^,\n]*/y

function readUnquoted(text: string, at: number, line: number): Result<CsvField, string> {
  UNQUOTED_FIELD.lastIndex = at
  const found = UNQUOTED_FIELD.exec(text)?.[0] ?? ''
  if (found.includes('"')) return err(`line ${line} has a quote in a field that is not quoted`)
  return ok({ text: found, end: at + found.length, lineCount: 0 })
}

/** A doubled quote is an escaped quote. */
function readQuoted(text: string, start: number, line: number): Result<CsvField, string> {
  let end = start + 1
  for (;;) {
    end = text.indexOf('"', end)
    if (end < 0) return err(`line ${line} has a quoted field without its closing quote`)
    if (text[end + 1] !== '"') break
    end += 2
  }
  const after = text[end + 1]
  if (after !== undefined && after !== ',' && after !== '\n')
    return err(`line ${line} has text after the closing quote of a field`)
  const content = text.slice(start + 1, end).replaceAll('""', '"')
  return ok({ text: content, end: end + 1, lineCount: content.split('\n').length - 1 })
}
