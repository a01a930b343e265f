import { isIPv6 } from 'node:net'
import type { TaskPort } from '../task-launch.ts'

/** The packet filter's table that holds the rules of the bridge. */
export const FILTER_TABLE = 'ip reeve'

export const PROTOCOLS = ['tcp', 'udp'] as const
type Protocol = (typeof PROTOCOLS)[number]

/** Names of the maps for ports of one address and for ports of all addresses. */
export const addressPortMapName = (protocol: Protocol): string => `host_${protocol}`
export const anyAddressPortMapName = (protocol: Protocol): string => `any_${protocol}`

const WILDCARD_ADDRESSES: ReadonlySet<string> = new Set(['', '0.0.0.0', '::'])

/**
 * nftables commands for the maps that forward ports to an allocation: one element per port and
 * protocol, so that removal is exact and the number of rules constant. A port assigned on one
 * address is only mapped on that address. IPv6 addresses cannot be translated and have no element.
 */
export function portMapCommands(
  verb: 'add' | 'delete',
  address: string,
  ports: readonly TaskPort[],
): string {
  return PROTOCOLS.flatMap((protocol) =>
    ports.filter(isIpv4Port).map(({ hostIp, hostPort, to }) => {
      const isWildcard = WILDCARD_ADDRESSES.has(hostIp)
      const map = isWildcard ? anyAddressPortMapName(protocol) : addressPortMapName(protocol)
      const from = isWildcard ? String(hostPort) : `${hostIp} . ${hostPort}`
      const target = `${address} . ${to > 0 ? to : hostPort}`
      return `${verb} element ${FILTER_TABLE} ${map} { ${from} : ${target} }\n`
    }),
  ).join('')
}

function isIpv4Port({ hostIp }: TaskPort): boolean {
  return WILDCARD_ADDRESSES.has(hostIp) || !isIPv6(hostIp)
}
