import { Fault } from '@reeve/kit/fault.ts'
import { areAdjacentMinors, minorVersionOf as minorOf } from '@reeve/kit/release.ts'
import { clusterMembers } from './roll.ts'
import type { ServerRecord, RegisteredServer, ServerRegistry } from './roll-store.ts'

/**
 * Rejects with a Fault if a server of the cluster is more than one minor version away: only
 * adjacent versions are tested together (docs/explanation/compatibility-promise.md).
 */
export async function assertAdjacentVersions(
  roll: ServerRegistry,
  self: ServerRecord,
): Promise<void> {
  // Development builds and the simulation have versions that cannot be compared.
  if (minorOf(self.build) === undefined) return
  const conflict = findIncompatibleServer(self, await roll.list())
  if (conflict === undefined) return
  throw new Fault(
    'server-version',
    `The server ${conflict.name} of this cluster runs Reeve ${conflict.build}, and this one is ` +
      `${self.build}: servers of one cluster are at most one minor version apart. ` +
      upgradeAdvice(self.build, conflict.build),
  )
}

/** Finds a live server whose version is not compatible with this one's. */
function findIncompatibleServer(self: ServerRecord, servers: readonly RegisteredServer[]) {
  return clusterMembers({ self, servers, leaderAddress: '' }).find(
    ({ status, address, build }) =>
      status !== 'left' &&
      status !== 'failed' &&
      address !== self.address &&
      !areAdjacent(self.build, build),
  )
}

/** Versions of development builds are not compared. */
export function areAdjacent(a: string, b: string): boolean {
  const [one, other] = [minorOf(a), minorOf(b)]
  return one === undefined || other === undefined || areAdjacentMinors(one, other)
}

function upgradeAdvice(ownBuild: string, otherBuild: string): string {
  const [from, to] = [minorOf(ownBuild), minorOf(otherBuild)]
  if (from === undefined || to === undefined || from.major !== to.major)
    return 'Upgrade one minor version at a time.'
  const intermediate = from.minor < to.minor ? to.minor - 1 : to.minor + 1
  return from.minor < to.minor
    ? `Start version ${to.major}.${intermediate} or ${to.major}.${to.minor} here.`
    : `Upgrade all servers to ${to.major}.${intermediate} first.`
}
