import { isIPv6 } from 'node:net'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { TaskPort } from '../driver.ts'
import type { RunNetworkCommand } from '../run-program.ts'

export interface BridgeSettings {
  readonly bridge: string
  readonly gateway: string
  readonly subnet: string
  readonly prefix: number
  /** Whether an allocation can reach itself through its own port of the machine. */
  readonly hairpin: boolean
}

/** Bridge settings of the operator. `subnet` is like `172.30.64.0/20`. */
interface BridgeConfig {
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

export const PROTOCOLS = ['tcp', 'udp'] as const

/** Maps of earlier versions, which did not distinguish addresses of the machine. */
export const LEGACY_MAPS = PROTOCOLS.map((protocol) => `dnat_${protocol}`)

/** The packet filter's table that holds the rules of the bridge. */
export const FILTER_TABLE = 'ip reeve'
type Protocol = (typeof PROTOCOLS)[number]

/** Names of the maps for ports of one address and for ports of all addresses. */
const addressPortMapName = (protocol: Protocol): string => `host_${protocol}`
const anyAddressPortMapName = (protocol: Protocol): string => `any_${protocol}`

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

/**
 * Accept rules in the `FORWARD` chain of iptables. On a machine whose policy there is DROP, which
 * the Docker Engine sets, packets of the bridge would go nowhere: an accept in a table of our own
 * does not overrule a drop in another one.
 *
 * All rules are in one chain named after the bridge, so that exactly those are removed again.
 */
export class IptablesForwardRules {
  readonly #settings: BridgeSettings
  readonly #run: RunNetworkCommand

  constructor(settings: BridgeSettings, run: RunNetworkCommand) {
    this.#settings = settings
    this.#run = run
  }

  /** Installs the rules if they are missing. Does nothing on a machine without iptables. */
  async ensure(): Promise<void> {
    if (!(await this.#hasIptables())) return
    if (await this.#isInstalled()) return
    await this.#run('iptables-restore', ['--wait', '--noflush'], this.#restoreScript())
    await this.#iptables('-I', 'FORWARD', '1', '-j', this.#chainName)
  }

  /** Removes the rules. Idempotent. */
  async remove(): Promise<void> {
    if (!(await this.#hasIptables())) return
    await this.#iptables('-D', 'FORWARD', '-j', this.#chainName).catch(ignoreMissingRule)
    await this.#iptables('-F', this.#chainName).catch(ignoreMissingRule)
    await this.#iptables('-X', this.#chainName).catch(ignoreMissingRule)
  }

  get #chainName(): string {
    return `REEVE-FWD-${this.#settings.bridge}`
  }

  /** Declaring the chain also flushes an existing one. */
  #restoreScript(): string {
    const { bridge, subnet } = this.#settings
    return [
      '*filter',
      `:${this.#chainName} - [0:0]`,
      `-A ${this.#chainName} -s ${subnet} -i ${bridge} -j ACCEPT`,
      `-A ${this.#chainName} -d ${subnet} -o ${bridge} -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT`,
      'COMMIT',
      '',
    ].join('\n')
  }

  #iptables(...args: readonly string[]): Promise<string> {
    return this.#run('iptables', ['--wait', ...args])
  }

  #hasIptables(): Promise<boolean> {
    return succeeds(this.#run('iptables', ['--version']))
  }

  #isInstalled(): Promise<boolean> {
    return succeeds(this.#iptables('-C', 'FORWARD', '-j', this.#chainName))
  }
}

/**
 * Base chains of nftables, other than that of iptables, whose policy drops forwarded packets:
 * `family table chain` of each. `listing` is the output of `nft --json`.
 */
export function droppingChains(listing: string): readonly string[] {
  const parsed: unknown = JSON.parse(listing)
  if (!chainListingChecker.Check(parsed)) return []
  return parsed.nftables.flatMap(({ chain }) => {
    if (chain?.hook !== 'forward' || chain.policy !== 'drop') return []
    const name = `${chain.family} ${chain.table} ${chain.name}`
    return name === IPTABLES_FORWARD_CHAIN || chain.family === 'ip6' ? [] : [name]
  })
}

const IPTABLES_FORWARD_CHAIN = 'ip filter FORWARD'

const TextSchema = Type.String()
const ChainSchema = Type.Object({
  family: TextSchema,
  table: TextSchema,
  name: TextSchema,
  hook: Type.Optional(TextSchema),
  policy: Type.Optional(TextSchema),
})
const chainListingChecker = Compile(
  Type.Object({ nftables: Type.Array(Type.Object({ chain: Type.Optional(ChainSchema) })) }),
)

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

function ignoreMissingRule(thrown: unknown): void {
  if (!MISSING_RULE_ERROR.test(errorMessage(thrown))) throw thrown
}

const MISSING_RULE_ERROR =
  /No chain\/target\/match|does not exist|does a matching rule exist|Bad rule/
