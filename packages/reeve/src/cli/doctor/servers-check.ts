import type { AgentMember } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import type { Invocation } from '../command.ts'
import type { Finding } from './finding.ts'

const NAMED_MAX = 5

/** Whether the servers of the cluster and of the regions it knows are there (docs/servers.md). */
export async function serversAreThere({ client }: Invocation): Promise<readonly Finding[]> {
  try {
    const { data } = await client.v1.listAgentMembers()
    return serversFindings(data.Members)
  } catch (thrown) {
    // Who may not see the servers is not told.
    if (thrown instanceof ApiError && thrown.status === 403) return []
    throw thrown
  }
}

type Told = Pick<AgentMember, 'Name' | 'Status'>

/** One that was stopped was meant to be; one server alone is told of by the checks before. */
export function serversFindings(members: readonly Told[]): readonly Finding[] {
  const staying = members.filter(({ Status }) => Status !== 'left')
  const failed = staying.filter(({ Status }) => Status === 'failed')
  const there = staying.length - failed.length
  const alive: readonly Finding[] =
    staying.length < 2
      ? []
      : [{ state: 'ok', what: `${there} of ${staying.length} servers are there.`, next: undefined }]
  if (failed.length === 0) return alive
  const names = failed.slice(0, NAMED_MAX).map(({ Name }) => `"${Name}"`)
  const more = failed.length > NAMED_MAX ? ' and others' : ''
  return [
    ...alive,
    {
      state: 'warning',
      what: `Nothing is heard of ${names.join(', ')}${more}.`,
      next: 'Look at its log, and whether it reaches the database; "reeve server members" lists all.',
    },
  ]
}
