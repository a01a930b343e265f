import { readWriterVersion, writeWriterVersion, type DataPaths } from './data-directory.ts'

interface VersionLog {
  warn(fields: object, message: string): void
}

/**
 * Records the version of the program that writes to a storage and warns if an older one follows a
 * newer one. That is allowed within one storage format, but rows may have fields that the older
 * version does not know.
 */
export async function recordWriterVersion(
  paths: DataPaths,
  version: string,
  log: VersionLog | undefined,
): Promise<void> {
  const previous = await readWriterVersion(paths)
  if (previous === version) return
  if (previous !== undefined && isOlder(version, previous))
    log?.warn(
      { before: previous, version },
      `the storage was last written by Reeve ${previous}, and this is the older ${version}: it does ` +
        'not know what that version added, and drops it from rows that it changes. Start ' +
        `${previous} again, or restore a backup that ${version} made`,
    )
  await writeWriterVersion(paths, version)
}

/** Compares versions like 1.10.0 and 1.9.3-rc.1 by their numbers; a pre-release is older. */
export function isOlder(version: string, other: string): boolean {
  const [a, b] = [parseVersion(version), parseVersion(other)]
  const differing = a.numbers.findIndex((number, i) => number !== b.numbers[i])
  if (differing === -1) return a.isPreRelease && !b.isPreRelease
  return (a.numbers[differing] ?? 0) < (b.numbers[differing] ?? 0)
}

function parseVersion(version: string) {
  const [release = '', ...rest] = version.split('-')
  const numbers = release.split('.').map((part) => Number.parseInt(part, 10) || 0)
  return { numbers: [...numbers, 0, 0, 0].slice(0, 3), isPreRelease: rest.length > 0 }
}
