import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { BridgeSettings } from './bridge-rules.ts'
import type { RunCommand } from './run-command.ts'

/**
 * Accept rules in the `FORWARD` chain of iptables. On a machine whose policy there is DROP, which
 * the Docker Engine sets, packets of the bridge would go nowhere: an accept in a table of our own
 * does not overrule a drop in another one.
 *
 * All rules are in one chain named after the bridge, so that exactly those are removed again.
 */
export class ForwardRules {
  readonly #settings: BridgeSettings
  readonly #run: RunCommand

  constructor(settings: BridgeSettings, run: RunCommand) {
    this.#settings = settings
    this.#run = run
  }

  /** Does nothing on a machine without iptables, and little where the rules are there. */
  async ensure(): Promise<void> {
    if (!(await this.#hasIptables())) return
    if (await this.#isJumpedTo()) return
    await this.#run('iptables-restore', ['--wait', '--noflush'], this.#chainText())
    await this.#iptables('-I', 'FORWARD', '1', '-j', this.#chain)
  }

  /** Safe to repeat. */
  async remove(): Promise<void> {
    if (!(await this.#hasIptables())) return
    await this.#iptables('-D', 'FORWARD', '-j', this.#chain).catch(ignoreMissing)
    await this.#iptables('-F', this.#chain).catch(ignoreMissing)
    await this.#iptables('-X', this.#chain).catch(ignoreMissing)
  }

  get #chain(): string {
    return `REEVE-FWD-${this.#settings.bridge}`
  }

  /** Declaring the chain empties it where it is there already. */
  #chainText(): string {
    const { bridge, subnet } = this.#settings
    return [
      '*filter',
      `:${this.#chain} - [0:0]`,
      `-A ${this.#chain} -s ${subnet} -i ${bridge} -j ACCEPT`,
      `-A ${this.#chain} -d ${subnet} -o ${bridge} -m conntrack --ctstate RELATED,ESTABLISHED,DNAT -j ACCEPT`,
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

  #isJumpedTo(): Promise<boolean> {
    return succeeds(this.#iptables('-C', 'FORWARD', '-j', this.#chain))
  }
}

/**
 * Chains of the packet filter, other than that of iptables, that drop what is forwarded unless a
 * rule of theirs accepts it: `family table chain` of each. `listing` is that of `nft --json`.
 */
export function droppingChains(listing: string): readonly string[] {
  const parsed: unknown = JSON.parse(listing)
  if (!listingChecker.Check(parsed)) return []
  return parsed.nftables.flatMap(({ chain }) => {
    if (chain?.hook !== 'forward' || chain.policy !== 'drop') return []
    const name = `${chain.family} ${chain.table} ${chain.name}`
    return name === IPTABLES_FORWARD || chain.family === 'ip6' ? [] : [name]
  })
}

const IPTABLES_FORWARD = 'ip filter FORWARD'

const Text = Type.String()
const Chain = Type.Object({
  family: Text,
  table: Text,
  name: Text,
  hook: Type.Optional(Text),
  policy: Type.Optional(Text),
})
const listingChecker = Compile(
  Type.Object({ nftables: Type.Array(Type.Object({ chain: Type.Optional(Chain) })) }),
)

async function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  )
}

function ignoreMissing(thrown: unknown): void {
  if (!MISSING.test(errorMessage(thrown))) throw thrown
}

const MISSING = /No chain\/target\/match|does not exist|does a matching rule exist|Bad rule/
