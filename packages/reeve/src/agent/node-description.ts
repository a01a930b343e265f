import type { DriverInfo, NodeRegistration } from '@reeve/contract'
import type { TaskAliases } from '../compat/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { assert, errorMessage } from '@reeve/kit/fault.ts'
import type { TaskDriver } from './driver.ts'
import type { Fingerprint } from './fingerprint.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Log } from './log.ts'
import type { AllocationNetworks, NetworkOffer } from './network/allocation-network.ts'
import type { NodeFacts } from './node-facts.ts'
import type { DynamicVolumes } from './volumes/dynamic-volumes.ts'
import { withDeadline } from './wait.ts'

/** What the operator decides about a node; the machine tells the rest. */
export interface NodeSettings extends Pick<
  NodeRegistration,
  | 'Name'
  | 'Datacenter'
  | 'NodePool'
  | 'NodeClass'
  | 'HTTPAddr'
  | 'TLSEnabled'
  | 'ReservedResources'
  | 'HostVolumes'
> {
  readonly Region: string
  readonly Meta: Readonly<Record<string, string>>
  /** The control group that those of tasks are below; none unless given. */
  readonly CgroupParent?: string
  /** Other names for tasks and templates; not told to the servers. */
  readonly aliases?: TaskAliases
}

interface NodeDescriptionOptions {
  readonly settings: NodeSettings
  readonly drivers: readonly TaskDriver[]
  readonly networks?: AllocationNetworks
  readonly clock: Clock
  readonly log: Log
  /** Reads the machine. */
  probe(): Promise<Fingerprint>
  /** Known once the storage is open. */
  nodeId(): string
  /** The metadata in force. */
  meta(): Readonly<Record<string, string>>
  readonly volumes: Pick<DynamicVolumes, 'probe' | 'attributes' | 'hostVolumes'>
  /** The servers decide it where the operator does not. */
  region(): string
}

/**
 * The node in its own words: what the operator set, what was found on the machine, and how its
 * drivers and networks are. The machine is read once, drivers and networks again and again: they
 * come and go.
 */
export class NodeDescription {
  readonly #options: NodeDescriptionOptions
  #fingerprint: Fingerprint | undefined
  #driverInfo: Readonly<Record<string, DriverInfo>> = {}
  #offers: readonly NetworkOffer[] = []

  constructor(options: NodeDescriptionOptions) {
    this.#options = options
  }

  /** Reads the machine and its drivers; nothing can be told of the node before. */
  async probe(): Promise<void> {
    this.#fingerprint = await this.#options.probe()
    await this.#options.networks?.open()
    await this.#probeNetworks()
    await this.#options.volumes.probe()
    await this.#probeDrivers()
  }

  /**
   * Probes drivers and networks again. Gives the node as it is now if it is no longer as it was
   * told.
   */
  async probeAgain(): Promise<NodeRegistration | undefined> {
    const before = JSON.stringify(this.registration())
    await this.#probeNetworks().catch((thrown: unknown) => {
      this.#options.log.warn({ error: errorMessage(thrown) }, 'networks not probed')
    })
    await this.#options.volumes.probe()
    await this.#probeDrivers()
    const node = this.registration()
    return JSON.stringify(node) === before ? undefined : node
  }

  /** For the servers. */
  registration(): NodeRegistration {
    const { Region: _, aliases: __, Meta: ___, ...settings } = this.#options.settings
    const { Attributes: found } = this.#found()
    const { volumes } = this.#options
    const Attributes: Record<string, string> = { ...found, ...volumes.attributes() }
    const HostVolumes = volumes.hostVolumes()
    for (const info of Object.values(this.#driverInfo)) Object.assign(Attributes, info.Attributes)
    return {
      CgroupParent: '',
      ...settings,
      Meta: this.#options.meta(),
      ID: this.#options.nodeId(),
      Attributes,
      NodeResources: this.#resources(),
      Drivers: this.#driverInfo,
      HostVolumes: Object.keys(HostVolumes).length === 0 ? null : HostVolumes,
      Links: null,
      HostNetworks: null,
    }
  }

  /** For tasks: what job files may ask about the node that runs them. */
  facts(): NodeFacts {
    const { ID, Name, Datacenter, NodePool, NodeClass, Attributes } = this.registration()
    const { CgroupParent = '', aliases } = this.#options.settings
    const Meta = this.#options.meta()
    const named = aliases === undefined ? {} : { aliases }
    const own = { Region: this.#options.region(), Meta, CgroupParent, ...named }
    return { ID, Name, Datacenter, NodePool, NodeClass, Attributes, ...own }
  }

  mhzPerCore(): number {
    const { Cpu } = this.#found().NodeResources
    return Cpu.CpuShares / Math.max(1, Cpu.TotalCpuCores)
  }

  #found(): Fingerprint {
    assert(this.#fingerprint !== undefined, 'the machine is probed before it is described')
    return this.#fingerprint
  }

  /** Operators add and remove networks of CNI plug-ins while the agent runs. */
  async #probeNetworks(): Promise<void> {
    const { networks, log } = this.#options
    const offers = (await networks?.probe()) ?? []
    const known = new Map(this.#offers.map(({ mode, problem }) => [mode, problem ?? '']))
    for (const { mode, problem: reason } of offers)
      if (reason !== undefined && reason !== known.get(mode))
        log.info({ mode, reason }, 'no networks for allocations here')
    this.#offers = offers
  }

  /** The node offers only those modes of networks of which a trial went well. */
  #resources(): Fingerprint['NodeResources'] {
    const { NodeResources } = this.#found()
    const own = this.#offers
      .filter(({ problem }) => problem === undefined)
      .map(({ mode }) => ({ Mode: mode, Device: '', MacAddress: '', Speed: 0, Addresses: null }))
    if (own.length === 0) return NodeResources
    return { ...NodeResources, NodeNetworks: [...(NodeResources.NodeNetworks ?? []), ...own] }
  }

  async #probeDrivers(): Promise<void> {
    const probes = this.#options.drivers.map(async (driver) => {
      return [driver.name, await this.#probeDriver(driver)] as const
    })
    this.#driverInfo = Object.fromEntries(await Promise.all(probes))
  }

  async #probeDriver(driver: TaskDriver): Promise<DriverInfo> {
    const { clock } = this.#options
    const ms = AGENT_LIMITS.probeMsMax
    const health = await withDeadline(driver.fingerprint(), { clock, ms, what: 'the probe' }).catch(
      (thrown: unknown) => ({
        detected: false,
        healthy: false,
        description: errorMessage(thrown),
        attributes: {},
      }),
    )
    const known = this.#driverInfo[driver.name]
    const info = {
      Attributes: health.attributes,
      Detected: health.detected,
      Healthy: health.healthy,
      HealthDescription: health.description,
      UpdateTime: known?.UpdateTime ?? isoFromMs(clock.nowMs()),
    }
    // The time is that of the last change, so that an unchanged driver is no news.
    if (known !== undefined && JSON.stringify(known) === JSON.stringify(info)) return known
    return { ...info, UpdateTime: isoFromMs(clock.nowMs()) }
  }
}
