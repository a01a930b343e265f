import type { AgentMember } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import type { CommandContext } from '../command.ts'
import type { Finding } from './finding.ts'

const NAMED_MAX = 5

/**
 * Whether the servers of the cluster and of its known regions are reachable
 * (docs/how-to/run-several-servers.md).
 */
export async function checkServers({ client }: CommandContext): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v1.listAgentMembers()
    return serversFindings(data.Members, data.ServerRegion)
  } catch (thrown) {
    // Other checks report the missing permission.
    if (thrown instanceof ApiError && thrown.status === 403) return []
    throw thrown
  }
}

type Server = Pick<AgentMember, 'Name' | 'Status' | 'Tags'>

/**
 * Reports failed servers. Servers that left on purpose are ignored, and a single server is covered
 * by the other checks.
 */
export function serversFindings(members: readonly Server[], ownRegion: string): readonly Finding[] {
  const staying = members.filter(({ Status }) => Status !== 'left')
  const failed = staying.filter(({ Status }) => Status === 'failed')
  const there = staying.length - failed.length
  const alive: readonly Finding[] =
    staying.length < 2
      ? []
      : [{ state: 'ok', what: `${there} of ${staying.length} servers are there.`, next: undefined }]
  const isOwn = ({ Tags }: Server): boolean => (Tags['region'] ?? ownRegion) === ownRegion
  return [
    ...alive,
    ...notResponding(failed.filter(isOwn), SAME_REGION_ADVICE),
    ...notResponding(
      failed.filter((one) => !isOwn(one)),
      OTHER_REGION_ADVICE,
    ),
  ]
}

/** Servers of one region detect each other through the shared database. */
const SAME_REGION_ADVICE =
  'Look at its log, and whether it reaches the database; "reeve server members" lists all.'

/** Servers of other regions are reached over the network. */
const OTHER_REGION_ADVICE =
  'Look whether it runs, and at the network and the certificates between the regions; ' +
  '"reeve server members" lists all.'

function notResponding(failed: readonly Server[], next: string): readonly Finding[] {
  if (failed.length === 0) return []
  const names = failed.slice(0, NAMED_MAX).map(({ Name }) => `"${Name}"`)
  const more = failed.length > NAMED_MAX ? ' and others' : ''
  const [what, verb] = failed.length === 1 ? ['Server', 'is'] : ['Servers', 'are']
  return [
    { state: 'warning', what: `${what} ${names.join(', ')}${more} ${verb} not responding.`, next },
  ]
}
