import type { TaskPort } from '../task-launch.ts'

export interface BridgeSettings {
  readonly bridge: string
  readonly gateway: string
  readonly subnet: string
  readonly prefix: number
}

/** Those of a bridge by this name for these addresses, such as `172.30.64.0/20`. */
export function bridgeSettings(bridge: string, subnet: string): BridgeSettings {
  const [address = '', length = ''] = subnet.split('/')
  const prefix = Number(length)
  const size = 2 ** (32 - prefix)
  // What is written may be any address of the network.
  const first = Math.floor(addressNumber(address) / size) * size
  return {
    bridge,
    gateway: addressText(first + 1),
    subnet: `${addressText(first)}/${prefix}`,
    prefix,
  }
}

export function addressNumber(text: string): number {
  return text.split('.').reduce((number, part) => number * 256 + Number(part), 0)
}

export function addressText(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}

/**
 * The packet filter's table, whole and safe to load again: maps keep their entries, chains are
 * emptied and filled. Reference task-drivers §12.
 */
export function bridgeRules({ bridge, subnet }: BridgeSettings): string {
  const dnat = (protocol: string): string =>
    `fib daddr type local dnat ip to ${protocol} dport map @dnat_${protocol}`
  const chains = [
    ['pre', 'type nat hook prerouting priority -100;', [dnat('tcp'), dnat('udp')]],
    ['out', 'type nat hook output priority -100;', [dnat('tcp'), dnat('udp')]],
    [
      'post',
      'type nat hook postrouting priority 100;',
      [
        `ip saddr 127.0.0.0/8 oifname "${bridge}" masquerade`,
        `ip saddr ${subnet} oifname != "${bridge}" masquerade`,
        `oifname "${bridge}" ip saddr ${subnet} ip daddr ${subnet} masquerade`,
      ],
    ],
  ] as const
  return [
    'add table ip reeve',
    ...PROTOCOLS.map(
      (protocol) =>
        `add map ip reeve dnat_${protocol} { type inet_service : ipv4_addr . inet_service; }`,
    ),
    ...chains.flatMap(([name, hook, rules]) => [
      `add chain ip reeve ${name} { ${hook} }`,
      `flush chain ip reeve ${name}`,
      ...rules.map((rule) => `add rule ip reeve ${name} ${rule}`),
    ]),
    '',
  ].join('\n')
}

const PROTOCOLS = ['tcp', 'udp'] as const

/** One entry for each port and protocol: removal is exact, and the number of rules stays. */
export function portElements(
  verb: 'add' | 'delete',
  address: string,
  ports: readonly TaskPort[],
): string {
  return PROTOCOLS.flatMap((protocol) =>
    ports.map(({ hostPort, to }) => {
      const target = `${address} . ${to > 0 ? to : hostPort}`
      return `${verb} element ip reeve dnat_${protocol} { ${hostPort} : ${target} }\n`
    }),
  ).join('')
}
