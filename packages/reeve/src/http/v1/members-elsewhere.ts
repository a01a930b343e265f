import { AgentMembers, type AgentMember } from '@reeve/contract'
import { Value } from 'typebox/value'
import { Fault } from '@reeve/kit/fault.ts'
import { agentMember, type RemoteRegions, type WorkloadContext } from '../../workload/index.ts'

/** Timeout of other regions: a user waits for the list. */
const RESPONSE_TIMEOUT_MS = 1_500

/**
 * Returns the servers of the other regions, sorted by region. Each region applies the caller's
 * permissions; one that does not respond is represented by its configured addresses.
 */
export async function remoteMembers(
  { regions }: Pick<WorkloadContext, 'regions'>,
  secret: string | undefined,
): Promise<readonly AgentMember[]> {
  if (regions === undefined) return []
  const requests = regions.remoteNames().map((region) => membersIn(regions, region, secret ?? ''))
  return (await Promise.all(requests)).flat()
}

async function membersIn(
  regions: RemoteRegions,
  region: string,
  token: string,
): Promise<readonly AgentMember[]> {
  const call = {
    method: 'GET',
    url: '/v1/agent/members',
    token,
    responseTimeoutMs: RESPONSE_TIMEOUT_MS,
  }
  try {
    const { status, text } = await regions.request(region, call)
    // The caller may not list the servers of that region, so they are omitted.
    if (status === 403) return []
    if (status === 200) return parseMembers(text).filter(({ Tags }) => Tags['region'] === region)
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
  }
  return unreachableMembers(region, regions.addressesOf(region))
}

function parseMembers(text: string): readonly AgentMember[] {
  try {
    const body: unknown = JSON.parse(text)
    return Value.Check(AgentMembers, body) ? body.Members : []
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return []
    throw thrown
  }
}

function unreachableMembers(region: string, addresses: readonly string[]): readonly AgentMember[] {
  return addresses
    .map((address) => hostAndPort(address))
    .toSorted()
    .map((address) => {
      const Tags = { role: 'server', region }
      return agentMember({ name: address, region, address, Tags, Status: 'failed' })
    })
}

/** Returns `host:port` of `http://host:port`, also if the port is the scheme's default. */
function hostAndPort(address: string): string {
  const { host, port, protocol } = new URL(address)
  return port !== '' ? host : `${host}:${protocol === 'https:' ? 443 : 80}`
}
