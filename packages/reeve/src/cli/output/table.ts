import { displayWidth } from './style.ts'

const GAP = '  '

/** Formats rows with a heading and aligned columns; the last column is not padded. */
export function renderTable(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  if (rows.length === 0) return ''
  const lines = [heading, ...rows]
  const widths = heading.map((_, column) =>
    Math.max(...lines.map((line) => displayWidth(line[column] ?? ''))),
  )
  return lines.map((line) => alignedLine(line, widths)).join('')
}

function alignedLine(line: readonly string[], widths: readonly number[]): string {
  const cells = line.map((cell, column) => {
    const isLast = column === line.length - 1
    return isLast ? cell : cell + ' '.repeat((widths[column] ?? 0) - displayWidth(cell))
  })
  return `${cells.join(GAP).trimEnd()}\n`
}

/** Formats names and values, one per line. */
export function renderFields(entries: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(0, ...entries.map(([name]) => displayWidth(name)))
  return entries
    .map(([name, value]) => `${name}${' '.repeat(width - displayWidth(name))} = ${value}`.trimEnd())
    .map((line) => `${line}\n`)
    .join('')
}

/** Shortens a UUID to its first part. */
export function shortenId(id: string): string {
  return /^[0-9a-f]{8}-/.test(id) ? id.slice(0, 8) : id
}
