import type { DriverInfo, NodeRegistration } from '@reeve/contract'
import type { TaskAliases } from '../compat/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { assert, errorMessage } from '@reeve/kit/fault.ts'
import type { TaskDriver } from './driver.ts'
import type { Fingerprint } from './fingerprint.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Logger } from './log.ts'
import type { NetworkManager, NetworkModeStatus } from './network/allocation-network.ts'
import type { NodeInfo } from './node-facts.ts'
import type { DynamicVolumes } from './volumes/dynamic-volumes.ts'
import { withTimeout } from './wait.ts'

/** Node settings of the operator; the rest is fingerprinted. */
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
  /** Parent cgroup of the cgroups of tasks; none unless given. */
  readonly CgroupParent?: string
  /** Alternative names in task environments and templates; not sent to the servers. */
  readonly aliases?: TaskAliases
}

interface LocalNodeOptions {
  readonly settings: NodeSettings
  readonly drivers: readonly TaskDriver[]
  readonly networks?: NetworkManager
  readonly clock: Clock
  readonly log: Logger
  /** Fingerprints the machine. */
  fingerprintMachine(): Promise<Fingerprint>
  /** Available once the storage is open. */
  nodeId(): string
  /** The effective metadata. */
  meta(): Readonly<Record<string, string>>
  readonly volumes: Pick<DynamicVolumes, 'probe' | 'attributes' | 'hostVolumes'>
  /** Set by the servers unless the operator configures one. */
  region(): string
}

/**
 * Description of this node: operator settings, fingerprint, and status of drivers and networks. The
 * machine is fingerprinted once, drivers and networks periodically.
 */
export class LocalNode {
  readonly #options: LocalNodeOptions
  #fingerprint: Fingerprint | undefined
  #driverInfo: Readonly<Record<string, DriverInfo>> = {}
  #networkModes: readonly NetworkModeStatus[] = []

  constructor(options: LocalNodeOptions) {
    this.#options = options
  }

  /**
   * Fingerprints the machine, its networks, volumes and drivers. Called before the node is
   * described.
   */
  async fingerprintAll(): Promise<void> {
    this.#fingerprint = await this.#options.fingerprintMachine()
    await this.#options.networks?.loadState()
    await this.#probeNetworks()
    await this.#options.volumes.probe()
    await this.#probeDrivers()
  }

  /**
   * Fingerprints drivers, networks and volumes again. Returns the registration if it has changed.
   */
  async refresh(): Promise<NodeRegistration | undefined> {
    const before = JSON.stringify(this.registration())
    await this.#probeNetworks().catch((thrown: unknown) => {
      this.#options.log.warn({ error: errorMessage(thrown) }, 'networks not probed')
    })
    await this.#options.volumes.probe()
    await this.#probeDrivers()
    const node = this.registration()
    return JSON.stringify(node) === before ? undefined : node
  }

  /** The registration that is sent to the servers. */
  registration(): NodeRegistration {
    const { Region: _, aliases: __, Meta: ___, ...settings } = this.#options.settings
    const { Attributes: detected } = this.#requireFingerprint()
    const { volumes } = this.#options
    const Attributes: Record<string, string> = { ...detected, ...volumes.attributes() }
    const HostVolumes = volumes.hostVolumes()
    for (const info of Object.values(this.#driverInfo)) Object.assign(Attributes, info.Attributes)
    return {
      CgroupParent: '',
      ...settings,
      Meta: this.#options.meta(),
      ID: this.#options.nodeId(),
      Attributes,
      NodeResources: this.#nodeResources(),
      Drivers: this.#driverInfo,
      HostVolumes: Object.keys(HostVolumes).length === 0 ? null : HostVolumes,
      Links: null,
      HostNetworks: null,
    }
  }

  /** The node information that tasks and templates can reference. */
  info(): NodeInfo {
    const { ID, Name, Datacenter, NodePool, NodeClass, Attributes } = this.registration()
    const { CgroupParent = '', aliases } = this.#options.settings
    const Meta = this.#options.meta()
    const optionalAliases = aliases === undefined ? {} : { aliases }
    const configuredFields = {
      Region: this.#options.region(),
      Meta,
      CgroupParent,
      ...optionalAliases,
    }
    return { ID, Name, Datacenter, NodePool, NodeClass, Attributes, ...configuredFields }
  }

  mhzPerCore(): number {
    const { Cpu } = this.#requireFingerprint().NodeResources
    return Cpu.CpuShares / Math.max(1, Cpu.TotalCpuCores)
  }

  #requireFingerprint(): Fingerprint {
    assert(this.#fingerprint !== undefined, 'the machine is probed before it is described')
    return this.#fingerprint
  }

  /** Operators add and remove CNI networks while the agent runs. */
  async #probeNetworks(): Promise<void> {
    const { networks, log } = this.#options
    const modes = (await networks?.probeModes()) ?? []
    const problemsBefore = new Map(
      this.#networkModes.map(({ mode, problem }) => [mode, problem ?? '']),
    )
    for (const { mode, problem: reason } of modes)
      if (reason !== undefined && reason !== problemsBefore.get(mode))
        log.info({ mode, reason }, 'no networks for allocations here')
    this.#networkModes = modes
  }

  /** Resources of the node, including only network modes that were probed successfully. */
  #nodeResources(): Fingerprint['NodeResources'] {
    const { NodeResources } = this.#requireFingerprint()
    const available = this.#networkModes
      .filter(({ problem }) => problem === undefined)
      .map(({ mode }) => ({ Mode: mode, Device: '', MacAddress: '', Speed: 0, Addresses: null }))
    if (available.length === 0) return NodeResources
    return { ...NodeResources, NodeNetworks: [...(NodeResources.NodeNetworks ?? []), ...available] }
  }

  async #probeDrivers(): Promise<void> {
    const probes = this.#options.drivers.map(async (driver) => {
      return [driver.name, await this.#probeDriver(driver)] as const
    })
    this.#driverInfo = Object.fromEntries(await Promise.all(probes))
  }

  async #probeDriver(driver: TaskDriver): Promise<DriverInfo> {
    const { clock } = this.#options
    const timeoutMs = AGENT_LIMITS.driverProbeTimeoutMs
    const health = await withTimeout(driver.fingerprint(), {
      clock,
      timeoutMs,
      operation: 'the probe',
    }).catch((thrown: unknown) => ({
      detected: false,
      healthy: false,
      description: errorMessage(thrown),
      attributes: {},
    }))
    const previous = this.#driverInfo[driver.name]
    const info = {
      Attributes: health.attributes,
      Detected: health.detected,
      Healthy: health.healthy,
      HealthDescription: health.description,
      UpdateTime: previous?.UpdateTime ?? isoFromMs(clock.nowMs()),
    }
    // UpdateTime is the time of the last change, so that an unchanged driver is not reported.
    if (previous !== undefined && JSON.stringify(previous) === JSON.stringify(info)) return previous
    return { ...info, UpdateTime: isoFromMs(clock.nowMs()) }
  }
}
