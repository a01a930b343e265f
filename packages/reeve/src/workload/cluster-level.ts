import { Fault } from '@reeve/kit/fault.ts'
import {
  areAdjacentMinors,
  compareMinors,
  minorText,
  minorVersionOf,
  parseMinor,
  type MinorVersion,
} from '@reeve/kit/release.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type ClusterLevelRow, type Refusal } from '../model/index.ts'
import { clusterLevel, FIRST_LEVEL, put, type Author, type Store } from '../state/index.ts'

/** A cluster member that has not left. */
export interface ServerBuild {
  readonly name: string
  readonly build: string
}

/**
 * Throws a Fault if this version must not write to the state: the cluster has been upgraded to a
 * newer version, or a minor version was skipped. Nothing has been written yet.
 */
export function assertClusterLevel({ tables }: Store, build: string): void {
  const ownVersion = minorVersionOf(build)
  // Development builds cannot be compared.
  if (ownVersion === undefined || tables.settings.lastIndex === 0) return
  const levelText = clusterLevel(tables)
  const level = parseMinor(levelText)
  if (level === undefined) return
  const order = compareMinors(ownVersion, level)
  if (order < 0)
    throw new Fault(
      'storage-version',
      `The cluster level of this state is ${levelText}, and this is Reeve ${build}: the upgrade to ` +
        `${levelText} is finished. Start Reeve ${levelText} or newer, or restore a snapshot that was saved ` +
        'before the upgrade. Nothing was changed.',
    )
  if (order > 0 && !areAdjacentMinors(ownVersion, level))
    throw new Fault(
      'storage-version',
      `The cluster level of this state is ${levelText}, and this is Reeve ${build}: upgrade one minor ` +
        `version at a time. Start the version after ${levelText} and finish its upgrade with ` +
        '"reeve operator upgrade finish". Nothing was changed.',
    )
}

/**
 * Returns the level row of a state that has none; undefined if it has one. A state without a level
 * was written by the first release.
 */
export function initialLevelRow(
  { tables: { settings } }: Store,
  build: string | undefined,
): ClusterLevelRow | undefined {
  if (settings.has('cluster-level')) return undefined
  const ownVersion = build === undefined ? undefined : minorVersionOf(build)
  const isNew = settings.lastIndex === 0
  return clusterLevelRow(isNew && ownVersion !== undefined ? minorText(ownVersion) : FIRST_LEVEL)
}

function clusterLevelRow(level: string): ClusterLevelRow {
  return { Name: 'cluster-level', Level: level, CreateIndex: 0, ModifyIndex: 0 }
}

/** Highest level that all servers support: the oldest of their versions. */
export function reachableLevel({ tables }: Store, servers: readonly ServerBuild[]): string {
  const current = clusterLevel(tables)
  const oldest = findOldestServer(servers)
  if (oldest === undefined) return current
  const level = parseMinor(current)
  return level !== undefined && compareMinors(oldest.minor, level) < 0
    ? current
    : minorText(oldest.minor)
}

interface OldestServer {
  readonly server: ServerBuild
  readonly minor: MinorVersion
}

function findOldestServer(servers: readonly ServerBuild[]): OldestServer | undefined {
  const known = servers.flatMap((server) => {
    const minor = minorVersionOf(server.build)
    return minor === undefined ? [] : [{ server, minor }]
  })
  return known.toSorted((a, b) => compareMinors(a.minor, b.minor)).at(0)
}

/** Raises the level to the version of the leader; rejected while an older server is a member. */
export async function raiseClusterLevel(
  store: Store,
  { by }: Author,
  { build, servers }: { readonly build: string; readonly servers: readonly ServerBuild[] },
): Promise<Result<{ readonly level: string; readonly index: number }, Refusal>> {
  const ownVersion = minorVersionOf(build)
  const current = clusterLevel(store.tables)
  if (ownVersion === undefined)
    return err(refusal('invalid-input', `${build} is not the version of a release.`))
  const oldest = findOldestServer(servers)
  if (oldest !== undefined && compareMinors(oldest.minor, ownVersion) < 0)
    return err(
      refusal(
        'invalid-input',
        `The server ${oldest.server.name} runs Reeve ${oldest.server.build}, the leader ${build}: ` +
          'upgrade it first, or remove it with "reeve server force-leave --prune" if it is gone.',
      ),
    )
  const level = minorText(ownVersion)
  if (level === current) {
    // Read the index before awaiting; later commits may not be durable yet.
    const { index } = store
    await store.whenDurable()
    return ok({ level, index })
  }
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [put('settings', clusterLevelRow(level))],
  })
  await durable
  return ok({ level, index })
}
