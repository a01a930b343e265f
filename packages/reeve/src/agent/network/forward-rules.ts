import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { BridgeSettings } from './bridge-rules.ts'
import type { RunNetworkCommand } from './run-command.ts'

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
