import type { JobFilePlace } from '@reeve/contract'
import { formatRange, type Range } from '@reeve/hcl'
import type { JobProblem } from '../model/index.ts'
import type { SourceMap } from './places.ts'

/** A validation problem with its position in the job file. */
export interface LocatedProblem extends JobProblem {
  readonly range: Range
}

/**
 * Adds source positions to the problems of `validateJob`. An unset field gets the position of its
 * closest enclosing block.
 */
export function locateProblems(
  problems: readonly JobProblem[],
  positions: SourceMap,
): readonly LocatedProblem[] {
  const placed = problems.map((problem) => ({ ...problem, range: positions.find(problem.path) }))
  // Sorted by position; problems at one position keep their order.
  return placed.toSorted((a, b) => a.range.start.offset - b.range.start.offset)
}

/** Where each field was written, by its path; a field that was not written is near its block. */
export function locatePaths(paths: readonly string[], positions: SourceMap): JobFilePlace[] {
  return paths.map((path) => {
    const { start } = positions.find(path)
    return { Line: start.line, Column: start.column }
  })
}

/** One line: `web.hcl:12,5-11: TaskGroups[0].Tasks[0].Driver: Missing task driver`. */
export function formatLocatedProblem({ path, message, range }: LocatedProblem): string {
  return `${formatRange(range)}: ${path === '' ? '' : `${path}: `}${message}`
}
