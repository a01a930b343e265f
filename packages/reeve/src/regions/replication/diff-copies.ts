/** One thing of a collection: what it is called, and what changes whenever it does. */
export interface Marked {
  readonly key: string
  readonly mark: string
}

export interface CopyDifference {
  /** Keys of what is new or other there, in the order of the list. */
  readonly changed: readonly string[]
  /** Keys of what is here and not there any more. */
  readonly gone: readonly string[]
}

/** What has to be done so that the copies here are what the authoritative region has. */
export function diffCopies(there: Iterable<Marked>, here: Iterable<Marked>): CopyDifference {
  const left = new Map<string, string>()
  for (const { key, mark } of here) left.set(key, mark)
  const changed: string[] = []
  for (const { key, mark } of there) {
    if (left.get(key) !== mark) changed.push(key)
    left.delete(key)
  }
  return { changed, gone: [...left.keys()] }
}
