import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Log } from '../log.ts'
import type {
  AllocationNetwork,
  AllocationNetworks,
  NetworkOffer,
  NetworkRequest,
} from './allocation-network.ts'
import { BridgeLeases, type Lease } from './bridge-leases.ts'
import {
  addressNumber,
  addressText,
  bridgeRules,
  FORMER_MAPS,
  type BridgeSettings,
} from './bridge-rules.ts'
import { droppingChains, ForwardRules } from './forward-rules.ts'
import { LoopbackRelay } from './loopback-relay.ts'
import { createNamespace, deleteNamespace, hasNamespace, NAMESPACES_DIR } from './namespace.ts'
import { FILTER_TABLE, portElements } from './port-map.ts'
import { runCommand, type RunCommand } from './run-command.ts'

interface BridgeOptions {
  /** Keeps which allocation has which address, for the next agent. */
  readonly stateFile: string
  readonly settings: BridgeSettings
  readonly log: Log
  readonly run?: RunCommand
  /** Where the kernel's namespaces have names. */
  readonly namespacesDir?: string
}

export const BRIDGE_MODE = 'bridge'

const INSIDE = 'eth0'

/** The lease of an allocation that reaches nobody. */
const ALONE: Lease = { address: '', ports: [] }

/**
 * A network namespace for each allocation, joined to a bridge; ports of the machine lead into it by
 * one element each of a map of the packet filter. The address is saved before anything is created,
 * so that whatever a crash leaves is found and removed.
 */
export class BridgeNetwork implements AllocationNetworks {
  readonly #run: RunCommand
  readonly #options: BridgeOptions
  readonly #leases: BridgeLeases
  readonly #forward: ForwardRules
  readonly #relay = new LoopbackRelay()
  #isReady = false
  /** One change after the other: the tools lock each other out otherwise. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(options: BridgeOptions) {
    this.#options = options
    this.#run = options.run ?? runCommand
    this.#leases = new BridgeLeases(options.stateFile)
    this.#forward = new ForwardRules(options.settings, this.#run)
  }

  /** Brings the rules of the machine to what this version writes, for the allocations that run. */
  async open(): Promise<void> {
    await this.#leases.open()
    const joined = this.#leases.joined()
    if (joined.length === 0) return
    for (const [id, lease] of joined) this.#relay.open(id, lease)
    await this.#inTurn(() => this.#ready()).catch((thrown: unknown) => {
      const reason = errorMessage(thrown)
      this.#options.log.warn({ reason }, 'rules of the bridge network not renewed')
    })
  }

  /** Both tools must be there, and the filter must take the rules. */
  async probe(): Promise<readonly NetworkOffer[]> {
    return [{ mode: BRIDGE_MODE, problem: await this.#problem() }]
  }

  find(allocationId: string): AllocationNetwork | undefined {
    const lease = this.#leases.find(allocationId)
    return lease === undefined ? undefined : this.#network(allocationId, lease)
  }

  setUp(request: NetworkRequest): Promise<AllocationNetwork> {
    const { allocationId, ports } = request
    return this.#give(allocationId, () => ({ address: this.#freeAddress(), ports }))
  }

  setUpAlone(allocationId: string): Promise<AllocationNetwork> {
    return this.#give(allocationId, () => ALONE)
  }

  tearDown(allocationId: string): Promise<void> {
    return this.#inTurn(async () => {
      const lease = this.#leases.find(allocationId)
      if (lease !== undefined) await this.#remove(allocationId, lease)
    })
  }

  async #problem(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'the agent does not run as root'
    try {
      await this.#run('ip', ['-Version'])
      await this.#run('nft', ['-c', '-f', '-'], bridgeRules(this.#options.settings))
      return undefined
    } catch (thrown) {
      return errorMessage(thrown)
    }
  }

  #give(allocationId: string, lend: () => Lease): Promise<AllocationNetwork> {
    return this.#inTurn(async () => {
      const known = this.#leases.find(allocationId)
      if (known !== undefined && (await hasNamespace(this.#namespacePath(allocationId)))) {
        return this.#network(allocationId, known)
      }
      if (known !== undefined) await this.#remove(allocationId, known)
      const lease = lend()
      await this.#leases.put(allocationId, lease)
      try {
        await createNamespace(this.#run, allocationId)
        if (lease.address !== '') await this.#join(allocationId, lease)
      } catch (thrown) {
        await this.#remove(allocationId, lease)
        throw thrown
      }
      return this.#network(allocationId, lease)
    })
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#last.then(work, work)
    this.#last = next.catch(() => undefined)
    return next
  }

  #network(allocationId: string, { address }: Lease): AllocationNetwork {
    const interfaceName = address === '' ? '' : INSIDE
    const namespacePath = this.#namespacePath(allocationId)
    return { namespacePath, address, addressIPv6: '', interfaceName }
  }

  #namespacePath(allocationId: string): string {
    return join(this.#options.namespacesDir ?? NAMESPACES_DIR, allocationId)
  }

  #freeAddress(): string {
    const { gateway, prefix, subnet } = this.#options.settings
    const taken = this.#leases.addresses()
    const first = addressNumber(gateway) + 1
    const last = first + 2 ** (32 - prefix) - 4
    for (let number = first; number <= last; number += 1) {
      const address = addressText(number)
      if (!taken.has(address)) return address
    }
    throw new Fault(
      'network',
      `every address of ${subnet} is taken; set client.bridge_network_subnet to a larger network`,
    )
  }

  /**
   * The bridge and the rules that all allocations share. Whoever reloads the machine's firewall
   * removes some of them, so they are looked at for each allocation.
   */
  async #ready(): Promise<void> {
    if (!this.#isReady) await this.#prepare()
    await this.#forward.ensure()
  }

  async #prepare(): Promise<void> {
    const { bridge, gateway, prefix } = this.#options.settings
    await this.#addBridge(bridge, gateway)
    await this.#run('ip', ['addr', 'replace', `${gateway}/${prefix}`, 'dev', bridge])
    await this.#run('ip', ['link', 'set', bridge, 'up'])
    await writeFile('/proc/sys/net/ipv4/ip_forward', '1')
    await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/route_localnet`, '1')
    const elements = this.#leases
      .joined()
      .map(([, { address, ports }]) => portElements('add', address, ports))
    await this.#run('nft', ['-f', '-'], bridgeRules(this.#options.settings) + elements.join(''))
    for (const map of FORMER_MAPS)
      await this.#run('nft', [`delete map ${FILTER_TABLE} ${map}`]).catch(ignoreMissing)
    await this.#warnOfDrops()
    this.#isReady = true
  }

  /**
   * A bridge without an address of its own takes the lowest of its ports. When a port with a lower
   * one joins, allocations that have the former address in their neighbour tables lose the gateway
   * for up to a minute.
   */
  async #addBridge(bridge: string, gateway: string): Promise<void> {
    const add = ['link', 'add', bridge, 'address', bridgeAddress(gateway), 'type', 'bridge']
    await this.#run('ip', add).catch(ignoreExisting)
  }

  async #warnOfDrops(): Promise<void> {
    const { log, settings } = this.#options
    const chains = droppingChains(await this.#run('nft', ['--json', 'list', 'chains']))
    if (chains.length === 0) return
    const advice = `add rules there that accept packets from and to the device ${settings.bridge}`
    log.warn({ chains, advice }, 'the firewall drops packets of bridge networks')
  }

  /** Joins it to the bridge, and lets ports of the machine lead into it. */
  async #join(allocationId: string, { address, ports }: Lease): Promise<void> {
    await this.#ready()
    const { bridge, gateway, prefix, hairpin } = this.#options.settings
    const outside = deviceName(allocationId)
    await this.#run(
      'ip',
      ['-batch', '-'],
      [
        `link add ${outside} type veth peer name ${INSIDE} netns ${allocationId}`,
        `link set ${outside} master ${bridge} up`,
        ...(hairpin ? [`link set ${outside} type bridge_slave hairpin on`] : []),
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
    await this.#mapPorts({ address, ports })
    this.#relay.open(allocationId, { address, ports })
  }

  /** A missing table was flushed with the machine's firewall: it is created again, once. */
  async #mapPorts({ address, ports }: Lease): Promise<void> {
    const elements = portElements('add', address, ports)
    if (elements === '') return
    const add = (): Promise<string> => this.#run('nft', ['-f', '-'], elements)
    await add().catch(async (thrown: unknown) => {
      ignoreMissing(thrown)
      // It adds the elements of every lease, this one among them.
      await this.#prepare()
    })
  }

  /** Each part may be missing already. The lease goes last. */
  async #remove(allocationId: string, { address, ports }: Lease): Promise<void> {
    this.#relay.close(allocationId)
    for (const port of ports) {
      const elements = portElements('delete', address, [port])
      await this.#run('nft', ['-f', '-'], elements).catch(ignoreMissing)
    }
    // The namespace may live on in a container of an engine that is away, its address must not.
    const device = ['link', 'delete', deviceName(allocationId)]
    if (address !== '') await this.#run('ip', device).catch(ignoreNoDevice)
    await deleteNamespace(this.#run, allocationId)
    await this.#leases.delete(allocationId)
    if (this.#leases.joined().length === 0) await this.#forward.remove()
  }
}

/** Device names have 15 characters; the allocation's identifier has 36. */
function deviceName(allocationId: string): string {
  return `rv${createHash('sha256').update(allocationId).digest('hex').slice(0, 11)}`
}

/** A locally administered MAC address that holds the address of the gateway. */
function bridgeAddress(gateway: string): string {
  const bytes = [0x02, 0x72, ...gateway.split('.').map(Number)]
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(':')
}

function ignoreExisting(thrown: unknown): void {
  if (!/File exists/.test(errorMessage(thrown))) throw thrown
}

function ignoreNoDevice(thrown: unknown): void {
  if (!/Cannot find device/.test(errorMessage(thrown))) throw thrown
}

function ignoreMissing(thrown: unknown): void {
  if (!/No such file|does not exist/.test(errorMessage(thrown))) throw thrown
}
