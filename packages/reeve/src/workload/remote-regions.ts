import type { AgentMember } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import type { RemoteRegions, WorkloadContext } from './context.ts'

/** A list that contains the users of an object, and is empty if it is unused. */
interface UsageCheck {
  /** Kind of user in the refusal: `non-terminal jobs`. */
  readonly what: string
  /** Path and query of the list. */
  readonly url: string
}

/** Regions that use an object, by kind of user. */
type UsageByRegion = ReadonlyMap<string, readonly string[]>

/**
 * Queries the other regions with the caller's token; none without a token. A region that does not
 * respond, or denies permission, counts as not using the object: it keeps its copy while it does
 * (decision 0041).
 */
export async function findRemoteUsage(
  { regions }: WorkloadContext,
  secret: string | undefined,
  checks: readonly UsageCheck[],
): Promise<UsageByRegion> {
  if (regions === undefined || secret === undefined) return new Map()
  const uses = await Promise.all(
    checks.map(async ({ what, url }): Promise<[string, string[]]> => {
      const names = await Promise.all(
        regions
          .remoteNames()
          .map(async (other) =>
            (await isUsedInRegion(regions, other, { url, secret })) ? [other] : [],
          ),
      )
      return [what, names.flat()]
    }),
  )
  return new Map(uses)
}

/** Returns `non-terminal jobs in regions: [eu us]` for each kind of user. */
export function formatUsage(
  region: string,
  localUsage: readonly string[],
  remoteUsage: UsageByRegion,
): readonly string[] {
  const kinds = [...new Set([...localUsage, ...remoteUsage.keys()])]
  return kinds.flatMap((userKind) => {
    const names = [
      ...(localUsage.includes(userKind) ? [region] : []),
      ...(remoteUsage.get(userKind) ?? []),
    ]
    return names.length === 0 ? [] : [`${userKind} in regions: [${names.toSorted().join(' ')}]`]
  })
}

async function isUsedInRegion(
  regions: RemoteRegions,
  region: string,
  { url, secret: token }: { readonly url: string; readonly secret: string },
): Promise<boolean> {
  try {
    const { status, text } = await regions.request(region, { method: 'GET', url, token })
    if (status !== 200) return false
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) && list.length > 0
  } catch (thrown) {
    if (thrown instanceof Fault) return false
    throw thrown
  }
}

/** The protocol between servers has one version: the HTTP API of the contract. */
const PROTOCOL = {
  ProtocolMin: 1,
  ProtocolMax: 1,
  ProtocolCur: 1,
  DelegateMin: 1,
  DelegateMax: 1,
  DelegateCur: 1,
}

interface ServerInfo extends Pick<AgentMember, 'Status' | 'Tags'> {
  /** Name without region; the address if no name is known. */
  readonly name: string
  readonly region: string
  /** `host:port`. */
  readonly address: string
}

/** Returns a server in the format of `/v1/agent/members`. */
export function agentMember({ name, region, address, ...rest }: ServerInfo): AgentMember {
  const colon = address.lastIndexOf(':')
  return {
    Name: `${name}.${region}`,
    // An IPv6 address has brackets only before a port.
    Addr: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'),
    Port: Number(address.slice(colon + 1)),
    ...rest,
    ...PROTOCOL,
  }
}
