/** Further away than this, a name is another word and not a slip of the finger. */
const DISTANCE_MAX = 3

/** Longer names are not compared: nobody misspells one of them by accident. */
const LENGTH_MAX = 64

/** The known name that was probably meant; undefined when none is near. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > LENGTH_MAX) return undefined
  const normalized = withoutSeparators(name)
  const ranked = known
    .map((candidate) => ({
      one: candidate,
      distance: editDistance(normalized, withoutSeparators(candidate)),
    }))
    .filter((match) => match.distance <= Math.min(DISTANCE_MAX, Math.floor(match.one.length / 2)))
    .toSorted((a, b) => a.distance - b.distance || (a.one < b.one ? -1 : 1))
  return ranked[0]?.one
}

/** `workDir` is meant as `work_dir`. */
function withoutSeparators(name: string): string {
  return name.replace(/[-_]/g, '').toLowerCase()
}

/** Letters to add, drop or change to make one of the other. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let i = 0; i < from.length; i += 1) {
    const next = [i + 1]
    for (let j = 0; j < to.length; j += 1) {
      const change = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1)
      next.push(Math.min(change, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[to.length] ?? 0
}
