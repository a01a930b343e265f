import type { AgentMember } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import type { Finding } from './finding.ts'

const NAMED_MAX = 5

/**
 * Whether the servers of the cluster and of its known regions are reachable
 * (docs/how-to/run-several-servers.md).
 */
export async function serversAreThere({ client }: Invocation): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v1.listAgentMembers()
    return serversFindings(data.Members, data.ServerRegion)
  } catch (thrown) {
    // Who may not see the servers is not told.
    if (thrown instanceof ApiError && thrown.status === 403) return []
    throw thrown
  }
}

type Server = Pick<AgentMember, 'Name' | 'Status' | 'Tags'>

/** One that was stopped was meant to be; one server alone is covered by the checks before. */
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
    ...notResponding(failed.filter(isOwn), DATABASE_ADVICE),
    ...notResponding(
      failed.filter((one) => !isOwn(one)),
      REGION_ADVICE,
    ),
  ]
}

/** Servers of one region share a database, and are known by it. */
const DATABASE_ADVICE =
  'Look at its log, and whether it reaches the database; "reeve server members" lists all.'

/** Those of other regions are asked over the network. */
const REGION_ADVICE =
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
