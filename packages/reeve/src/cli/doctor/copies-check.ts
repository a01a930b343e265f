import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import type { Finding } from './finding.ts'

/** Maximum lag: replicas are refreshed every few seconds. */
const LAG_MS_MAX = 15_000

/** Age of the replicas of the authoritative region, if there is one (docs/how-to/regions.md). */
export async function checkReplication({ client }: CommandContext): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v1.readAgentSelf()
    return replicationFindings(data.stats['replication'])
  } catch (thrown) {
    // Other checks report the missing permission.
    if (thrown instanceof ApiError && thrown.status === 403) return []
    throw thrown
  }
}

export function replicationFindings(
  stats: Readonly<Record<string, string>> | undefined,
): readonly Finding[] {
  // Only the leader replicates; other servers report their role instead.
  if (stats === undefined || stats['role'] !== undefined) return []
  const region = stats['authoritative_region'] ?? ''
  const lagMs = Number(stats['lag_ms'] ?? Number.POSITIVE_INFINITY)
  const [error] = Object.entries(stats).filter(([name]) => name.endsWith('_error'))
  if (error === undefined && lagMs <= LAG_MS_MAX) {
    const what = `Policies, roles and global tokens are those of region "${region}".`
    return [{ state: 'ok', what, next: undefined }]
  }
  const why = error === undefined ? '' : `: ${error[1]}`
  return [
    {
      state: 'warning',
      what: `The copies of region "${region}" ${formatReplicaAge(lagMs)}${why}.`,
      next: 'Look whether that region answers, and at acl.replication_token (docs/how-to/regions.md).',
    },
  ]
}

function formatReplicaAge(lagMs: number): string {
  return Number.isFinite(lagMs)
    ? `may be ${Math.round(lagMs / 1_000)} s old`
    : 'may be of any age, for they were not compared since this server leads'
}
