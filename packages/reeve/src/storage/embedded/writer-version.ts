import { readWriter, writeWriter, type DataPaths } from './data-directory.ts'

interface VersionLog {
  warn(fields: object, message: string): void
}

/**
 * Records which version of the program writes to a storage, and warns when an older one follows a
 * newer one. Within one storage format that is allowed, but rows may hold fields that the older one
 * does not know.
 */
export async function recordWriter(
  paths: DataPaths,
  version: string,
  log: VersionLog | undefined,
): Promise<void> {
  const before = await readWriter(paths)
  if (before === version) return
  if (before !== undefined && isOlder(version, before))
    log?.warn(
      { before, version },
      `the storage was last written by Reeve ${before}, and this is the older ${version}: it does ` +
        'not know what that version added, and drops it from rows that it changes. Start ' +
        `${before} again, or restore a backup that ${version} made`,
    )
  await writeWriter(paths, version)
}

/** Compares versions like 1.10.0 and 1.9.3-rc.1 by their numbers; a pre-release is older. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [partsOf(version), partsOf(than)]
  const differing = a.numbers.findIndex((number, i) => number !== b.numbers[i])
  if (differing === -1) return a.isPreRelease && !b.isPreRelease
  return (a.numbers[differing] ?? 0) < (b.numbers[differing] ?? 0)
}

function partsOf(version: string) {
  const [release = '', ...rest] = version.split('-')
  const numbers = release.split('.').map((part) => Number.parseInt(part, 10) || 0)
  return { numbers: [...numbers, 0, 0, 0].slice(0, 3), isPreRelease: rest.length > 0 }
}
