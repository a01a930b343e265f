/** A record's key, and a version that changes with every change of the record. */
export interface KeyedVersion {
  readonly key: string
  readonly version: string
}

export interface VersionDiff {
  /**
   * Keys of records that are new or different in the authoritative region, in the order of its
   * list.
   */
  readonly changed: readonly string[]
  /** Keys of copies that the authoritative region no longer has. */
  readonly removed: readonly string[]
}

/** Returns the changes that make the local copies equal to the authoritative region's records. */
export function diffVersions(
  remote: Iterable<KeyedVersion>,
  local: Iterable<KeyedVersion>,
): VersionDiff {
  const remaining = new Map<string, string>()
  for (const { key, version } of local) remaining.set(key, version)
  const changed: string[] = []
  for (const { key, version } of remote) {
    if (remaining.get(key) !== version) changed.push(key)
    remaining.delete(key)
  }
  return { changed, removed: [...remaining.keys()] }
}
