import type { JobFilePlace } from '@reeve/contract'
import { formatRange, type Range } from '@reeve/hcl'
import type { JobProblem } from '../model/index.ts'
import type { Positions } from './places.ts'

/** What validation finds wrong with a job, and where in its file that was written. */
export interface PlacedProblem extends JobProblem {
  readonly range: Range
}

/**
 * Joins what `validateJob` finds with the file that the job came from. A field that was not written
 * is at the nearest block around it.
 */
export function placeProblems(
  problems: readonly JobProblem[],
  positions: Positions,
): readonly PlacedProblem[] {
  const placed = problems.map((problem) => ({ ...problem, range: positions.find(problem.path) }))
  // As a person goes through the file; those of one place stay as they were found.
  return placed.toSorted((a, b) => a.range.start.offset - b.range.start.offset)
}

/** Where each field was written, by its path; a field that was not written is near its block. */
export function findPlaces(paths: readonly string[], positions: Positions): JobFilePlace[] {
  return paths.map((path) => {
    const { start } = positions.find(path)
    return { Line: start.line, Column: start.column }
  })
}

/** One line: `web.hcl:12,5-11: TaskGroups[0].Tasks[0].Driver: Missing task driver`. */
export function formatPlacedProblem({ path, message, range }: PlacedProblem): string {
  return `${formatRange(range)}: ${path === '' ? '' : `${path}: `}${message}`
}
