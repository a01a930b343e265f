import {
  type DriverInfo,
  GLOBAL_REGION,
  type NodeMeta,
  type NodeRegistration,
} from '@reeve/contract'
import type { TaskAliases } from '../compat/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { isoFromMs } from '@reeve/kit/duration.ts'
import { assert, errorMessage } from '@reeve/kit/fault.ts'
import { LIMITS } from '../model/index.ts'
import type { TaskDriver } from './driver.ts'
import type { Fingerprint } from './fingerprint.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Logger } from './log.ts'
import type { NetworkManager, NetworkModeStatus } from './network/allocation-network.ts'
import type { NodeInfo } from './node-info.ts'
import { RemoteRefusal } from './remote/remote-refusal.ts'
import type { AgentStorage } from './store/agent-storage.ts'
import type { DynamicVolumes } from './volumes/dynamic-volumes.ts'
import { withTimeout } from './timing.ts'

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

interface NodeRegionOptions {
  /** Region from the configuration. */
  readonly configured: string
  readonly storage: Pick<AgentStorage, 'saveRegion'>
  readonly log: Logger
}

/** Region of the node: the configured one, otherwise that of its servers. */
export class NodeRegion {
  readonly #options: NodeRegionOptions
  #serverRegion: string | undefined

  constructor(options: NodeRegionOptions) {
    this.#options = options
  }

  /** The configured region; undefined for the default one. */
  get configured(): string | undefined {
    const { configured: region } = this.#options
    return region === GLOBAL_REGION ? undefined : region
  }

  get effective(): string {
    return this.configured ?? this.#serverRegion ?? GLOBAL_REGION
  }

  /** Loads the region that the servers sent to the previous agent. */
  restore(region: string | undefined): void {
    this.#serverRegion = region
  }

  /**
   * Stores the region: tasks are recovered before a server is reached, and templates that render
   * another region until then would restart them.
   */
  onWelcome(region: string | undefined): void {
    if (region === undefined || region === this.#serverRegion) return
    this.#serverRegion = region
    const { storage, log } = this.#options
    storage.saveRegion(region).catch((thrown: unknown) => {
      log.error({ err: errorMessage(thrown) }, 'the region of the servers could not be kept')
    })
  }
}

type MetadataValues = Readonly<Record<string, string>>
type MetadataChanges = Readonly<Record<string, string | null>>

interface NodeMetadataOptions {
  /** Metadata of the configuration. */
  readonly configured: MetadataValues
  /** Stores the metadata that requests have set; durable when it resolves. */
  readonly store: (dynamic: MetadataChanges) => Promise<void>
  /** Called when the effective metadata has changed. */
  readonly onChange: () => void
}

/** Metadata of the node: configured by the operator, and overridden by requests. */
export class NodeMetadata {
  readonly #options: NodeMetadataOptions
  #dynamic: MetadataChanges = {}

  constructor(options: NodeMetadataOptions) {
    this.#options = options
  }

  /** Loads the metadata that the previous agent has stored. */
  restore(dynamic: MetadataChanges | undefined): void {
    this.#dynamic = dynamic ?? {}
  }

  /** The effective metadata. */
  effectiveValues(): MetadataValues {
    const entries = Object.entries({ ...this.#options.configured, ...this.#dynamic })
    return Object.fromEntries(
      entries.flatMap(([name, value]) => (value === null ? [] : [[name, value]])),
    )
  }

  describe(): NodeMeta {
    return {
      Meta: this.effectiveValues(),
      Dynamic: this.#dynamic,
      Static: this.#options.configured,
    }
  }

  async apply(changes: MetadataChanges): Promise<NodeMeta> {
    const dynamic = mergeChanges(this.#dynamic, changes, this.#options.configured)
    rejectInvalidChanges(changes, Object.keys(dynamic).length)
    await this.#options.store(dynamic)
    this.#dynamic = dynamic
    this.#options.onChange()
    return this.describe()
  }
}

/** Merges the changes. Null deletes a dynamic value, and hides a configured one. */
function mergeChanges(
  dynamic: MetadataChanges,
  changes: MetadataChanges,
  configured: MetadataValues,
): MetadataChanges {
  const entries = Object.entries({ ...dynamic, ...changes })
  return Object.fromEntries(
    entries.filter(([name, value]) => value !== null || Object.hasOwn(configured, name)),
  )
}

/** The rules of the configuration: names without whitespace, values of one line. */
const METADATA_NAME = /^\S{1,128}$/
const METADATA_VALUE = /^[^\p{Cc}]{0,4096}$/u

function rejectInvalidChanges(changes: MetadataChanges, count: number): void {
  for (const [name, value] of Object.entries(changes)) {
    if (!METADATA_NAME.test(name))
      throw new RemoteRefusal(400, 'a name of metadata has 1 to 128 characters and no spaces')
    if (value !== null && !METADATA_VALUE.test(value))
      throw new RemoteRefusal(
        400,
        `metadata ${name}: a value is one line of at most 4096 characters`,
      )
  }
  if (count > LIMITS.nodeMetaMax)
    throw new RemoteRefusal(400, `a node has at most ${LIMITS.nodeMetaMax} values of metadata`)
}
