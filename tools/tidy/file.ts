import type { Areas } from '../source/areas.ts'
import type { Finding } from '../source/finding.ts'
import type { Source } from '../source/tree.ts'

/** A rule about one source file. */
export type FileRule = (source: Source, areas: Areas) => Iterable<Violation>

/** A finding without path and rule, which the caller adds. */
export interface Violation {
  readonly line: number
  readonly message: string
}

export function toFindings(path: string, rule: string, complaints: Iterable<Violation>): Finding[] {
  return Array.from(complaints, ({ line, message }) => ({ path, line, rule, message }))
}

/** Splits a path into words, for rules about names. */
export function pathWords(path: string): string[] {
  return path.split(/[/.-]/)
}
