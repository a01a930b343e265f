import { AgentMembers, type AgentMember } from '@reeve/contract'
import { Value } from 'typebox/value'
import { Fault } from '@reeve/kit/fault.ts'
import { agentMember, type OtherRegions, type WorkloadContext } from '../../workload/index.ts'

/** Timeout of other regions: a user waits for the list. */
const ANSWER_MS_MAX = 1_500

/**
 * Returns the servers of the other regions, sorted by region. Each region applies the caller's
 * permissions; one that does not respond is represented by its configured addresses.
 */
export async function membersElsewhere(
  { regions }: Pick<WorkloadContext, 'regions'>,
  secret: string | undefined,
): Promise<readonly AgentMember[]> {
  if (regions === undefined) return []
  const asked = regions.others().map((region) => membersIn(regions, region, secret ?? ''))
  return (await Promise.all(asked)).flat()
}

async function membersIn(
  regions: OtherRegions,
  region: string,
  token: string,
): Promise<readonly AgentMember[]> {
  const call = { method: 'GET', url: '/v1/agent/members', token, answerMsMax: ANSWER_MS_MAX }
  try {
    const { status, text } = await regions.ask(region, call)
    // The caller may not list the servers of that region, so they are omitted.
    if (status === 403) return []
    if (status === 200) return readMembers(text).filter(({ Tags }) => Tags['region'] === region)
  } catch (thrown) {
    if (!(thrown instanceof Fault)) throw thrown
  }
  return unreached(region, regions.addressesOf(region))
}

function readMembers(text: string): readonly AgentMember[] {
  try {
    const told: unknown = JSON.parse(text)
    return Value.Check(AgentMembers, told) ? told.Members : []
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return []
    throw thrown
  }
}

function unreached(region: string, addresses: readonly string[]): readonly AgentMember[] {
  return addresses
    .map((address) => hostOf(address))
    .toSorted()
    .map((address) => {
      const Tags = { role: 'server', region }
      return agentMember({ name: address, region, address, Tags, Status: 'failed' })
    })
}

/** Returns `host:port` of `http://host:port`, also if the port is the scheme's default. */
function hostOf(address: string): string {
  const { host, port, protocol } = new URL(address)
  return port !== '' ? host : `${host}:${protocol === 'https:' ? 443 : 80}`
}
