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

/** A server of the cluster that has not left. */
export interface ServerBuild {
  readonly name: string
  readonly build: string
}

/**
 * Rejects with a Fault where this program must not write to the state: an upgrade to a newer one
 * is finished, or the version between was skipped. Nothing has been written yet.
 */
export function assertClusterLevel({ tables }: Store, build: string): void {
  const own = minorVersionOf(build)
  // A build that is not of a release cannot be compared.
  if (own === undefined || tables.settings.lastIndex === 0) return
  const text = clusterLevel(tables)
  const level = parseMinor(text)
  if (level === undefined) return
  const order = compareMinors(own, level)
  if (order < 0)
    throw new Fault(
      'storage-version',
      `The cluster level of this state is ${text}, and this is Reeve ${build}: the upgrade to ` +
        `${text} is finished. Start Reeve ${text} or newer, or restore a snapshot that was saved ` +
        'before the upgrade. Nothing was changed.',
    )
  if (order > 0 && !areAdjacentMinors(own, level))
    throw new Fault(
      'storage-version',
      `The cluster level of this state is ${text}, and this is Reeve ${build}: upgrade one minor ` +
        `version at a time. Start the version after ${text} and finish its upgrade with ` +
        '"reeve operator upgrade finish". Nothing was changed.',
    )
}

/** Undefined where a level exists. A state without one was written by the first release. */
export function levelOfNewState(
  { tables: { settings } }: Store,
  build: string | undefined,
): ClusterLevelRow | undefined {
  if (settings.has('cluster-level')) return undefined
  const own = build === undefined ? undefined : minorVersionOf(build)
  const isNew = settings.lastIndex === 0
  return levelRow(isNew && own !== undefined ? minorText(own) : FIRST_LEVEL)
}

function levelRow(level: string): ClusterLevelRow {
  return { Name: 'cluster-level', Level: level, CreateIndex: 0, ModifyIndex: 0 }
}

/** The level that the servers have reached together: the oldest of their versions. */
export function possibleLevel({ tables }: Store, servers: readonly ServerBuild[]): string {
  const current = clusterLevel(tables)
  const oldest = oldestOf(servers)
  if (oldest === undefined) return current
  const level = parseMinor(current)
  return level !== undefined && compareMinors(oldest.minor, level) < 0
    ? current
    : minorText(oldest.minor)
}

interface Oldest {
  readonly server: ServerBuild
  readonly minor: MinorVersion
}

function oldestOf(servers: readonly ServerBuild[]): Oldest | undefined {
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
  const own = minorVersionOf(build)
  const current = clusterLevel(store.tables)
  if (own === undefined)
    return err(refusal('invalid-input', `${build} is not the version of a release.`))
  const oldest = oldestOf(servers)
  if (oldest !== undefined && compareMinors(oldest.minor, own) < 0)
    return err(
      refusal(
        'invalid-input',
        `The server ${oldest.server.name} runs Reeve ${oldest.server.build}, the leader ${build}: ` +
          'upgrade it first, or remove it with "reeve server force-leave --prune" if it is gone.',
      ),
    )
  const level = minorText(own)
  if (level === current) {
    // Read the index before awaiting; later commits may not be durable yet.
    const { index } = store
    await store.settled()
    return ok({ level, index })
  }
  const { index, durable } = store.commit({
    by,
    cause: undefined,
    changes: () => [put('settings', levelRow(level))],
  })
  await durable
  return ok({ level, index })
}
