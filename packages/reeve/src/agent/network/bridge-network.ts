import { createHash } from 'node:crypto'
import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Fault, messageOf } from '../../kit/fault.ts'
import { readStateFile, writeStateFile } from '../store/state-file.ts'
import type { TaskPort } from '../task-launch.ts'
import type { AllocationNetwork, AllocationNetworks } from './allocation-network.ts'
import {
  addressNumber,
  addressText,
  bridgeRules,
  bridgeSettings,
  portElements,
  type BridgeSettings,
} from './bridge-rules.ts'
import { runCommand, type RunCommand } from './run-command.ts'

interface BridgeOptions {
  /** Keeps which allocation has which address, for the next agent. */
  readonly stateFile: string
  readonly run?: RunCommand
  readonly settings?: BridgeSettings
  /** Where the kernel's namespaces have names. */
  readonly namespacesDir?: string
}

const Leases = Type.Object({
  leases: Type.Record(
    Type.String(),
    Type.Object({
      address: Type.String(),
      ports: Type.Array(
        Type.Object({
          label: Type.String(),
          hostIp: Type.String(),
          hostPort: Type.Integer(),
          to: Type.Integer(),
        }),
      ),
    }),
  ),
})
const leasesChecker = Compile(Leases)

interface Lease {
  readonly address: string
  readonly ports: readonly TaskPort[]
}

/** Reference task-drivers §12: addresses 172.30.64.2 and up, behind one bridge of the machine. */
const SETTINGS = bridgeSettings('reeve0', '172.30.64.0/20')

const INSIDE = 'eth0'

/** What an allocation has that reaches nobody. */
const ALONE: Lease = { address: '', ports: [] }

/**
 * A network namespace for each allocation, joined to a bridge; ports of the machine lead into it by
 * one entry each of a map of the packet filter. The address is saved before anything is made, so
 * that whatever a crash leaves is found and removed.
 */
export class BridgeNetwork implements AllocationNetworks {
  readonly mode = 'bridge'
  readonly #run: RunCommand
  readonly #options: BridgeOptions
  readonly #settings: BridgeSettings
  readonly #leases = new Map<string, Lease>()
  #isReady = false
  /** One change after the other: the tools lock each other out otherwise. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: BridgeOptions) {
    this.#options = options
    this.#run = options.run ?? runCommand
    this.#settings = options.settings ?? SETTINGS
  }

  async open(): Promise<void> {
    const stored = await readStateFile(this.#options.stateFile)
    if (stored === undefined) return
    if (!leasesChecker.Check(stored)) {
      throw new Fault('agent-state', `${this.#options.stateFile} is not what the agent writes`)
    }
    for (const [id, lease] of Object.entries(stored.leases)) this.#leases.set(id, lease)
  }

  /** Both tools must be there, and the filter must take the rules; nothing is changed. */
  async probe(): Promise<string | undefined> {
    try {
      await this.#run('ip', ['-Version'])
      await this.#run('nft', ['-c', '-f', '-'], bridgeRules(this.#settings))
      return undefined
    } catch (thrown) {
      return messageOf(thrown)
    }
  }

  find(allocationId: string): AllocationNetwork | undefined {
    const lease = this.#leases.get(allocationId)
    return lease === undefined ? undefined : this.#network(allocationId, lease)
  }

  setUp(allocationId: string, ports: readonly TaskPort[]): Promise<AllocationNetwork> {
    return this.#give(allocationId, () => ({ address: this.#freeAddress(), ports }))
  }

  setUpAlone(allocationId: string): Promise<AllocationNetwork> {
    return this.#give(allocationId, () => ALONE)
  }

  #give(allocationId: string, lend: () => Lease): Promise<AllocationNetwork> {
    return this.#inTurn(async () => {
      const known = this.#leases.get(allocationId)
      if (known !== undefined && (await this.#isThere(allocationId))) {
        return this.#network(allocationId, known)
      }
      if (known !== undefined) await this.#remove(allocationId, known)
      const lease = lend()
      this.#leases.set(allocationId, lease)
      await this.#save()
      try {
        await this.#run('ip', ['netns', 'add', allocationId])
        await this.#run('ip', ['-n', allocationId, 'link', 'set', 'lo', 'up'])
        if (lease.address !== '') await this.#join(allocationId, lease)
      } catch (thrown) {
        await this.#remove(allocationId, lease)
        throw thrown
      }
      return this.#network(allocationId, lease)
    })
  }

  tearDown(allocationId: string): Promise<void> {
    return this.#inTurn(async () => {
      const lease = this.#leases.get(allocationId)
      if (lease !== undefined) await this.#remove(allocationId, lease)
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work)
    this.#last = next.catch(() => undefined)
    return next
  }

  #network(allocationId: string, { address }: Lease): AllocationNetwork {
    const interfaceName = address === '' ? '' : INSIDE
    return { namespacePath: this.#namespacePath(allocationId), address, interfaceName }
  }

  #namespacePath(allocationId: string): string {
    return join(this.#options.namespacesDir ?? '/run/netns', allocationId)
  }

  async #isThere(allocationId: string): Promise<boolean> {
    return access(this.#namespacePath(allocationId)).then(
      () => true,
      () => false,
    )
  }

  #freeAddress(): string {
    const taken = new Set([...this.#leases.values()].map(({ address }) => address))
    const first = addressNumber(this.#settings.gateway) + 1
    const last = first + 2 ** (32 - this.#settings.prefix) - 4
    for (let number = first; number <= last; number += 1) {
      const address = addressText(number)
      if (!taken.has(address)) return address
    }
    throw new Fault('network', 'every address of the bridge is taken')
  }

  /** The bridge and the rules that all allocations share. */
  async #ready(): Promise<void> {
    if (this.#isReady) return
    const { bridge, gateway, prefix } = this.#settings
    await this.#run('ip', ['link', 'add', bridge, 'type', 'bridge']).catch(ignoreExisting)
    await this.#run('ip', ['addr', 'replace', `${gateway}/${prefix}`, 'dev', bridge])
    await this.#run('ip', ['link', 'set', bridge, 'up'])
    await writeFile('/proc/sys/net/ipv4/ip_forward', '1')
    await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/route_localnet`, '1')
    await this.#run('nft', ['-f', '-'], bridgeRules(this.#settings))
    this.#isReady = true
  }

  /** Joins it to the bridge, and lets ports of the machine lead into it. */
  async #join(allocationId: string, { address, ports }: Lease): Promise<void> {
    await this.#ready()
    const { bridge, gateway, prefix } = this.#settings
    const outside = deviceName(allocationId)
    await this.#run(
      'ip',
      ['-batch', '-'],
      [
        `link add ${outside} type veth peer name ${INSIDE} netns ${allocationId}`,
        `link set ${outside} master ${bridge} up`,
      ].join('\n'),
    )
    await this.#run(
      'ip',
      ['-n', allocationId, '-batch', '-'],
      [
        `addr add ${address}/${prefix} dev ${INSIDE}`,
        `link set ${INSIDE} up`,
        `route add default via ${gateway}`,
      ].join('\n'),
    )
    const elements = portElements('add', address, ports)
    if (elements !== '') await this.#run('nft', ['-f', '-'], elements)
  }

  /** Each part may be missing already. The lease goes last. */
  async #remove(allocationId: string, { address, ports }: Lease): Promise<void> {
    for (const port of ports) {
      const elements = portElements('delete', address, [port])
      await this.#run('nft', ['-f', '-'], elements).catch(ignoreMissing)
    }
    await this.#run('ip', ['netns', 'delete', allocationId]).catch(ignoreMissing)
    this.#leases.delete(allocationId)
    await this.#save()
  }

  async #save(): Promise<void> {
    const leases = Object.fromEntries(this.#leases)
    await writeStateFile(this.#options.stateFile, JSON.stringify({ leases }))
  }
}

/** Device names have 15 characters; the allocation's identifier has 36. */
function deviceName(allocationId: string): string {
  return `rv${createHash('sha256').update(allocationId).digest('hex').slice(0, 11)}`
}

function ignoreExisting(thrown: unknown): void {
  if (!/File exists/.test(messageOf(thrown))) throw thrown
}

function ignoreMissing(thrown: unknown): void {
  if (!/No such file|does not exist/.test(messageOf(thrown))) throw thrown
}
