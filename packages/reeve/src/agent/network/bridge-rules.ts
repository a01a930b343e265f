import { anyPortMap, FILTER_TABLE, hostPortMap, PROTOCOLS } from './port-map.ts'

export interface BridgeSettings {
  readonly bridge: string
  readonly gateway: string
  readonly subnet: string
  readonly prefix: number
  /** Whether an allocation reaches itself through its own port of the machine. */
  readonly hairpin: boolean
}

/** What the operator chooses of it. `subnet` is such as `172.30.64.0/20`. */
export interface BridgeChoices {
  readonly name: string
  readonly subnet: string
  readonly hairpin: boolean
}

export function bridgeSettings({ name, subnet, hairpin }: BridgeChoices): BridgeSettings {
  const [address = '', length = ''] = subnet.split('/')
  const prefix = Number(length)
  const size = 2 ** (32 - prefix)
  // What is written may be any address of the network.
  const first = Math.floor(addressNumber(address) / size) * size
  return {
    bridge: name,
    gateway: addressText(first + 1),
    subnet: `${addressText(first)}/${prefix}`,
    prefix,
    hairpin,
  }
}

export function addressNumber(text: string): number {
  return text.split('.').reduce((number, part) => number * 256 + Number(part), 0)
}

export function addressText(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}

/**
 * The packet filter's table, whole and safe to load again: maps keep their elements, chains are
 * emptied and filled.
 */
export function bridgeRules({ bridge, subnet }: BridgeSettings): string {
  const translations = PROTOCOLS.flatMap((protocol) => [
    `dnat ip to ip daddr . ${protocol} dport map @${hostPortMap(protocol)}`,
    `fib daddr type local dnat ip to ${protocol} dport map @${anyPortMap(protocol)}`,
  ])
  const chains = [
    ['pre', 'type nat hook prerouting priority -100;', translations],
    ['out', 'type nat hook output priority -100;', translations],
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
  const target = 'ipv4_addr . inet_service'
  return [
    `add table ${FILTER_TABLE}`,
    ...PROTOCOLS.flatMap((protocol) => [
      `add map ${FILTER_TABLE} ${hostPortMap(protocol)} { type ${target} : ${target}; }`,
      `add map ${FILTER_TABLE} ${anyPortMap(protocol)} { type inet_service : ${target}; }`,
    ]),
    ...chains.flatMap(([name, hook, rules]) => [
      `add chain ${FILTER_TABLE} ${name} { ${hook} }`,
      `flush chain ${FILTER_TABLE} ${name}`,
      ...rules.map((rule) => `add rule ${FILTER_TABLE} ${name} ${rule}`),
    ]),
    '',
  ].join('\n')
}

/** Maps of earlier versions, which knew no addresses of the machine. */
export const FORMER_MAPS = PROTOCOLS.map((protocol) => `dnat_${protocol}`)
