import { widthOf } from './style.ts'

const GAP = '  '

/** Rows under a heading, columns aligned; the last column is not padded. */
export function table(heading: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const lines = [heading, ...rows]
  const widths = heading.map((_, column) =>
    Math.max(...lines.map((line) => widthOf(line[column] ?? ''))),
  )
  return lines.map((line) => alignedLine(line, widths)).join('')
}

function alignedLine(line: readonly string[], widths: readonly number[]): string {
  const cells = line.map((cell, column) => {
    const isLast = column === line.length - 1
    return isLast ? cell : cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell))
  })
  return `${cells.join(GAP).trimEnd()}\n`
}

/** Names and values, one on each line. */
export function fields(entries: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(0, ...entries.map(([name]) => widthOf(name)))
  return entries
    .map(([name, value]) => `${name}${' '.repeat(width - widthOf(name))} = ${value}`.trimEnd())
    .map((line) => `${line}\n`)
    .join('')
}

/** Identifiers are long; the first part tells them apart. */
export function shortId(id: string): string {
  return /^[0-9a-f]{8}-/.test(id) ? id.slice(0, 8) : id
}
