import type { Areas } from '../source/areas.ts'
import type { Finding } from '../source/finding.ts'
import type { Source } from '../source/tree.ts'

/** A rule about one source file. */
export type FileRule = (source: Source, areas: Areas) => Iterable<Complaint>

/** A finding whose path and rule name the caller knows. */
export interface Complaint {
  readonly line: number
  readonly message: string
}

export function findingsOf(path: string, rule: string, complaints: Iterable<Complaint>): Finding[] {
  return Array.from(complaints, ({ line, message }) => ({ path, line, rule, message }))
}

/** The path below the repository without its ending: for rules about names. */
export function wordsOf(path: string): string[] {
  return path.split(/[/.-]/)
}
