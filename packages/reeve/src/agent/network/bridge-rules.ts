import { anyAddressPortMapName, FILTER_TABLE, addressPortMapName, PROTOCOLS } from './port-map.ts'

export interface BridgeSettings {
  readonly bridge: string
  readonly gateway: string
  readonly subnet: string
  readonly prefix: number
  /** Whether an allocation can reach itself through its own port of the machine. */
  readonly hairpin: boolean
}

/** Bridge settings of the operator. `subnet` is like `172.30.64.0/20`. */
export interface BridgeConfig {
  readonly name: string
  readonly subnet: string
  readonly hairpin: boolean
}

export function toBridgeSettings({ name, subnet, hairpin }: BridgeConfig): BridgeSettings {
  const [address = '', length = ''] = subnet.split('/')
  const prefix = Number(length)
  const size = 2 ** (32 - prefix)
  // The configured address may be any address of the subnet.
  const networkNumber = Math.floor(ipv4ToNumber(address) / size) * size
  return {
    bridge: name,
    gateway: ipv4FromNumber(networkNumber + 1),
    subnet: `${ipv4FromNumber(networkNumber)}/${prefix}`,
    prefix,
    hairpin,
  }
}

export function ipv4ToNumber(text: string): number {
  return text.split('.').reduce((number, part) => number * 256 + Number(part), 0)
}

export function ipv4FromNumber(number: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}

/**
 * nftables script that is safe to load repeatedly: maps keep their elements, chains are flushed and
 * filled.
 */
export function nftablesScript({ bridge, subnet }: BridgeSettings): string {
  const translations = PROTOCOLS.flatMap((protocol) => [
    `dnat ip to ip daddr . ${protocol} dport map @${addressPortMapName(protocol)}`,
    `fib daddr type local dnat ip to ${protocol} dport map @${anyAddressPortMapName(protocol)}`,
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
      `add map ${FILTER_TABLE} ${addressPortMapName(protocol)} { type ${target} : ${target}; }`,
      `add map ${FILTER_TABLE} ${anyAddressPortMapName(protocol)} { type inet_service : ${target}; }`,
    ]),
    ...chains.flatMap(([name, hook, rules]) => [
      `add chain ${FILTER_TABLE} ${name} { ${hook} }`,
      `flush chain ${FILTER_TABLE} ${name}`,
      ...rules.map((rule) => `add rule ${FILTER_TABLE} ${name} ${rule}`),
    ]),
    '',
  ].join('\n')
}

/** Maps of earlier versions, which did not distinguish addresses of the machine. */
export const LEGACY_MAPS = PROTOCOLS.map((protocol) => `dnat_${protocol}`)
