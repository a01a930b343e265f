import { isIPv6 } from 'node:net'
import type { TaskPort } from '../task-launch.ts'

/** The packet filter's table that holds the rules of the bridge. */
export const FILTER_TABLE = 'ip reeve'

export const PROTOCOLS = ['tcp', 'udp'] as const
type Protocol = (typeof PROTOCOLS)[number]

/** Ports of one address of the machine, and ports of all its addresses. */
export const hostPortMap = (protocol: Protocol): string => `host_${protocol}`
export const anyPortMap = (protocol: Protocol): string => `any_${protocol}`

const EVERY_ADDRESS: ReadonlySet<string> = new Set(['', '0.0.0.0', '::'])

/**
 * Changes to the maps that lead ports of the machine into an allocation: one element for each port
 * and protocol, so that removal is exact and the number of rules stays the same. A port that was
 * granted on one address is mapped on that address only. Addresses of IPv6 cannot be translated to
 * the IPv4 address of an allocation, and have no element.
 */
export function portElements(
  verb: 'add' | 'delete',
  address: string,
  ports: readonly TaskPort[],
): string {
  return PROTOCOLS.flatMap((protocol) =>
    ports.filter(isMapped).map(({ hostIp, hostPort, to }) => {
      const isEvery = EVERY_ADDRESS.has(hostIp)
      const map = isEvery ? anyPortMap(protocol) : hostPortMap(protocol)
      const from = isEvery ? String(hostPort) : `${hostIp} . ${hostPort}`
      const target = `${address} . ${to > 0 ? to : hostPort}`
      return `${verb} element ${FILTER_TABLE} ${map} { ${from} : ${target} }\n`
    }),
  ).join('')
}

function isMapped({ hostIp }: TaskPort): boolean {
  return EVERY_ADDRESS.has(hostIp) || !isIPv6(hostIp)
}
