import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Logger } from '../log.ts'
import {
  type AllocationNetwork,
  createNamespace,
  deleteNamespace,
  hasNamespace,
  NAMESPACES_DIR,
  type NetworkManager,
  type NetworkModeStatus,
  type NetworkRequest,
} from './allocation-network.ts'
import { BridgeLeases, type BridgeLease } from './bridge-leases.ts'
import {
  ipv4ToNumber,
  ipv4FromNumber,
  nftablesScript,
  LEGACY_MAPS,
  type BridgeSettings,
  FILTER_TABLE,
  portMapCommands,
  droppingChains,
  IptablesForwardRules,
} from './firewall.ts'
import { LoopbackRelay } from './loopback-relay.ts'
import { runNetworkCommand, type RunNetworkCommand } from '../run-program.ts'

interface BridgeOptions {
  /** File with the leases for the next agent. */
  readonly stateFile: string
  readonly settings: BridgeSettings
  readonly log: Logger
  readonly run?: RunNetworkCommand
  /** Directory of named network namespaces. */
  readonly namespacesDir?: string
}

export const BRIDGE_MODE = 'bridge'

const INNER_INTERFACE = 'eth0'

/** Lease of a loopback-only network. */
const LOOPBACK_ONLY: BridgeLease = { address: '', ports: [] }

/**
 * Creates a network namespace per allocation, connected to a bridge; each port of the machine is
 * forwarded by one element of an nftables map. The lease is saved before anything is created, so
 * that the remains of a crash are found and removed.
 */
export class BridgeNetwork implements NetworkManager {
  readonly #run: RunNetworkCommand
  readonly #options: BridgeOptions
  readonly #leases: BridgeLeases
  readonly #forwardRules: IptablesForwardRules
  readonly #loopbackRelay = new LoopbackRelay()
  #isPrepared = false
  /** Serializes changes: the tools fail when they run in parallel. */
  #lastChange: Promise<unknown> = Promise.resolve()

  constructor(options: BridgeOptions) {
    this.#options = options
    this.#run = options.run ?? runNetworkCommand
    this.#leases = new BridgeLeases(options.stateFile)
    this.#forwardRules = new IptablesForwardRules(options.settings, this.#run)
  }

  /** Updates the rules of the machine to those of this version, for running allocations. */
  async loadState(): Promise<void> {
    await this.#leases.load()
    const connected = this.#leases.connectedLeases()
    if (connected.length === 0) return
    for (const [id, lease] of connected) this.#loopbackRelay.open(id, lease)
    await this.#serialize(() => this.#ensureReady()).catch((thrown: unknown) => {
      const reason = errorMessage(thrown)
      this.#options.log.warn({ reason }, 'rules of the bridge network not renewed')
    })
  }

  /** Requires both tools, and rules that nftables accepts. */
  async probeModes(): Promise<readonly NetworkModeStatus[]> {
    return [{ mode: BRIDGE_MODE, problem: await this.#findProblem() }]
  }

  find(allocationId: string): AllocationNetwork | undefined {
    const lease = this.#leases.find(allocationId)
    return lease === undefined ? undefined : this.#networkOf(allocationId, lease)
  }

  setUp(request: NetworkRequest): Promise<AllocationNetwork> {
    const { allocationId, ports } = request
    return this.#setUpWithLease(allocationId, () => ({ address: this.#allocateAddress(), ports }))
  }

  setUpLoopbackOnly(allocationId: string): Promise<AllocationNetwork> {
    return this.#setUpWithLease(allocationId, () => LOOPBACK_ONLY)
  }

  tearDown(allocationId: string): Promise<void> {
    return this.#serialize(async () => {
      const lease = this.#leases.find(allocationId)
      if (lease !== undefined) await this.#tearDownLease(allocationId, lease)
    })
  }

  async #findProblem(): Promise<string | undefined> {
    if (process.getuid?.() !== 0) return 'the agent does not run as root'
    try {
      await this.#run('ip', ['-Version'])
      await this.#run('nft', ['-c', '-f', '-'], nftablesScript(this.#options.settings))
      return undefined
    } catch (thrown) {
      return errorMessage(thrown)
    }
  }

  #setUpWithLease(
    allocationId: string,
    createLease: () => BridgeLease,
  ): Promise<AllocationNetwork> {
    return this.#serialize(async () => {
      const existing = this.#leases.find(allocationId)
      if (existing !== undefined && (await hasNamespace(this.#namespacePath(allocationId)))) {
        return this.#networkOf(allocationId, existing)
      }
      if (existing !== undefined) await this.#tearDownLease(allocationId, existing)
      const lease = createLease()
      await this.#leases.put(allocationId, lease)
      try {
        await createNamespace(this.#run, allocationId)
        if (lease.address !== '') await this.#connect(allocationId, lease)
      } catch (thrown) {
        await this.#tearDownLease(allocationId, lease)
        throw thrown
      }
      return this.#networkOf(allocationId, lease)
    })
  }

  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#lastChange.then(work, work)
    this.#lastChange = next.catch(() => undefined)
    return next
  }

  #networkOf(allocationId: string, { address }: BridgeLease): AllocationNetwork {
    const interfaceName = address === '' ? '' : INNER_INTERFACE
    const namespacePath = this.#namespacePath(allocationId)
    return { namespacePath, address, addressIPv6: '', interfaceName }
  }

  #namespacePath(allocationId: string): string {
    return join(this.#options.namespacesDir ?? NAMESPACES_DIR, allocationId)
  }

  #allocateAddress(): string {
    const { gateway, prefix, subnet } = this.#options.settings
    const usedAddresses = this.#leases.usedAddresses()
    const first = ipv4ToNumber(gateway) + 1
    const last = first + 2 ** (32 - prefix) - 4
    for (let number = first; number <= last; number += 1) {
      const address = ipv4FromNumber(number)
      if (!usedAddresses.has(address)) return address
    }
    throw new Fault(
      'network',
      `every address of ${subnet} is taken; set client.bridge_network_subnet to a larger network`,
    )
  }

  /**
   * Ensures the bridge and the shared rules. A firewall reload removes some of them, so they are
   * checked for each allocation.
   */
  async #ensureReady(): Promise<void> {
    if (!this.#isPrepared) await this.#prepare()
    await this.#forwardRules.ensure()
  }

  async #prepare(): Promise<void> {
    const { bridge, gateway, prefix } = this.#options.settings
    await this.#addBridge(bridge, gateway)
    await this.#run('ip', ['addr', 'replace', `${gateway}/${prefix}`, 'dev', bridge])
    await this.#run('ip', ['link', 'set', bridge, 'up'])
    await writeFile('/proc/sys/net/ipv4/ip_forward', '1')
    await writeFile(`/proc/sys/net/ipv4/conf/${bridge}/route_localnet`, '1')
    const elements = this.#leases
      .connectedLeases()
      .map(([, { address, ports }]) => portMapCommands('add', address, ports))
    await this.#run('nft', ['-f', '-'], nftablesScript(this.#options.settings) + elements.join(''))
    for (const map of LEGACY_MAPS)
      await this.#run('nft', [`delete map ${FILTER_TABLE} ${map}`]).catch(ignoreMissing)
    await this.#warnAboutDroppingChains()
    this.#isPrepared = true
  }

  /**
   * Creates the bridge with a fixed MAC address. Otherwise it has the lowest address of its ports,
   * and when a port with a lower one joins, allocations lose the gateway for up to a minute.
   */
  async #addBridge(bridge: string, gateway: string): Promise<void> {
    const add = ['link', 'add', bridge, 'address', bridgeMacAddress(gateway), 'type', 'bridge']
    await this.#run('ip', add).catch(ignoreExisting)
  }

  async #warnAboutDroppingChains(): Promise<void> {
    const { log, settings } = this.#options
    const chains = droppingChains(await this.#run('nft', ['--json', 'list', 'chains']))
    if (chains.length === 0) return
    const advice = `add rules there that accept packets from and to the device ${settings.bridge}`
    log.warn({ chains, advice }, 'the firewall drops packets of bridge networks')
  }

  /** Connects the namespace to the bridge and forwards ports of the machine to it. */
  async #connect(allocationId: string, { address, ports }: BridgeLease): Promise<void> {
    await this.#ensureReady()
    const { bridge, gateway, prefix, hairpin } = this.#options.settings
    const hostInterface = hostInterfaceName(allocationId)
    await this.#run(
      'ip',
      ['-batch', '-'],
      [
        `link add ${hostInterface} type veth peer name ${INNER_INTERFACE} netns ${allocationId}`,
        `link set ${hostInterface} master ${bridge} up`,
        ...(hairpin ? [`link set ${hostInterface} type bridge_slave hairpin on`] : []),
      ].join('\n'),
    )
    await this.#run(
      'ip',
      ['-n', allocationId, '-batch', '-'],
      [
        `addr add ${address}/${prefix} dev ${INNER_INTERFACE}`,
        `link set ${INNER_INTERFACE} up`,
        `route add default via ${gateway}`,
      ].join('\n'),
    )
    await this.#mapPorts({ address, ports })
    this.#loopbackRelay.open(allocationId, { address, ports })
  }

  /**
   * Forwards ports. If the table is missing, a firewall reload flushed it: create it again, once.
   */
  async #mapPorts({ address, ports }: BridgeLease): Promise<void> {
    const elements = portMapCommands('add', address, ports)
    if (elements === '') return
    const add = (): Promise<string> => this.#run('nft', ['-f', '-'], elements)
    await add().catch(async (thrown: unknown) => {
      ignoreMissing(thrown)
      // Adds the elements of all leases, including this one.
      await this.#prepare()
    })
  }

  /** Removes all parts, each of which may be missing. The lease is removed last. */
  async #tearDownLease(allocationId: string, { address, ports }: BridgeLease): Promise<void> {
    this.#loopbackRelay.close(allocationId)
    for (const port of ports) {
      const elements = portMapCommands('delete', address, [port])
      await this.#run('nft', ['-f', '-'], elements).catch(ignoreMissing)
    }
    // The namespace may stay alive in a container of an unreachable engine; its address must not.
    const device = ['link', 'delete', hostInterfaceName(allocationId)]
    if (address !== '') await this.#run('ip', device).catch(ignoreNoDevice)
    await deleteNamespace(this.#run, allocationId)
    await this.#leases.delete(allocationId)
    if (this.#leases.connectedLeases().length === 0) await this.#forwardRules.remove()
  }
}

/** Device names have 15 characters; the allocation's identifier has 36. */
function hostInterfaceName(allocationId: string): string {
  return `rv${createHash('sha256').update(allocationId).digest('hex').slice(0, 11)}`
}

/** A locally administered MAC address that holds the address of the gateway. */
function bridgeMacAddress(gateway: string): string {
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
