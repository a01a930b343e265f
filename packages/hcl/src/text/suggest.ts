import { truncateText } from '@reeve/kit/truncate-text.ts'
import { QUOTED_LENGTH_MAX } from '../limits.ts'

/** Maximum number of names compared per message; a hostile object may have many more. */
const CANDIDATES_MAX = 200

/** The closest valid name, or undefined if none is similar. */
export function findNearestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > QUOTED_LENGTH_MAX) return undefined
  // A third of the letters may differ: `datacentres` suggests `datacenters`, `x` suggests nothing.
  let bestDistance = Math.floor(name.length / 3) + 1
  let best: string | undefined
  let seenCount = 0
  for (const candidate of candidates) {
    if (++seenCount > CANDIDATES_MAX) break
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue
    const distance = editDistance(name, candidate)
    if (distance >= bestDistance) continue
    bestDistance = distance
    best = candidate
  }
  return best
}

/** ` Did you mean "x"?` with a leading space, or an empty string. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const nearest = findNearestName(name, candidates)
  return nearest === undefined ? '' : ` Did you mean ${quoteText(nearest)}?`
}

/** Quotes text for a message and truncates it if it is long. */
export function quoteText(text: string): string {
  return JSON.stringify(truncateText(text, QUOTED_LENGTH_MAX))
}

/** Number of insertions, deletions, replacements and transpositions (Damerau–Levenshtein). */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const current = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      let cost = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (same ? 0 : 1),
      )
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      if (row > 1 && column > 1 && swapped)
        cost = Math.min(cost, (beforePrevious[column - 2] ?? 0) + 1)
      current.push(cost)
    }
    beforePrevious = previous
    previous = current
  }
  return previous[b.length] ?? 0
}
