import { mkdir, realpath } from 'node:fs/promises'
import {
  BUILT_IN_VOLUME_PLUGIN,
  type MadeVolume,
  type NodeRegistration,
  type VolumeOnNode,
} from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import { isHostPath, LIMITS, volumePluginAttribute } from '../../model/index.ts'
import type { Logger } from '../log.ts'
import { RemoteRefusal } from '../remote/remote-refusal.ts'
import { Semaphore } from '../timing.ts'
import {
  hostPathRequirement,
  newMkdirPlugin,
  type PluginNode,
  ProgramPlugins,
  requireDirectory,
  type VolumePlugin,
  volumePluginRefusal,
} from './volume-plugin.ts'

/** Directories for volumes and volume plugins. */
export interface VolumeSettings {
  readonly volumesDir: string
  readonly pluginDir: string
  /** Must not be mounted by jobs: it contains the state of the agent and the servers. */
  readonly dataDirectory: string
}

/** A stored volume: its definition and the result of its creation. */
export interface StoredVolume extends VolumeOnNode {
  readonly bytes: number
}

type ConfiguredVolumes = NonNullable<NodeRegistration['HostVolumes']>

interface DynamicVolumesOptions {
  /** Undefined if only configured volumes are supported. */
  readonly settings: VolumeSettings | undefined
  /** Configured volumes; dynamic ones cannot use their names. */
  readonly configured: ConfiguredVolumes
  readonly log: Logger
  nodeId(): string
  /** Returns the ID of an allocation that mounts the volume and has not ended. */
  findVolumeUser(name: string): string | undefined
  /** Stores the list of volumes; durable when it resolves. */
  saveVolumes(volumes: readonly StoredVolume[]): Promise<void>
  /** Called when the set of available volumes changes. */
  onChange(): void
}

/** Volumes that are restored at the same time. */
const PARALLEL_RESTORES_MAX = 4
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The dynamic host volumes of this node, created or registered through the API. */
export class DynamicVolumes {
  readonly #options: DynamicVolumesOptions
  readonly #stored = new Map<string, StoredVolume>()
  /** IDs of stored volumes that are available to jobs. */
  readonly #availableIds = new Set<string>()
  /** The last operation on each volume: the next one waits for it. */
  readonly #operations = new Map<string, Promise<unknown>>()
  /** Restores that run or wait for a slot, by the ID of the volume. */
  readonly #restores = new Map<string, Promise<void>>()
  readonly #restoreSemaphore = new Semaphore(PARALLEL_RESTORES_MAX)
  /** Why a volume could not be restored, by its ID: logged again only when it changes. */
  readonly #restoreErrors = new Map<string, string>()
  readonly #programPlugins: ProgramPlugins | undefined
  #plugins: ReadonlyMap<string, VolumePlugin> = new Map()

  constructor(options: DynamicVolumesOptions) {
    this.#options = options
    const { settings, log } = options
    if (settings === undefined) return
    this.#programPlugins = new ProgramPlugins({
      ...this.#pluginEnvironment(settings),
      ...settings,
      log,
    })
  }

  /**
   * Looks for plugins, which operators add and replace while the agent runs, and retries to restore
   * the volumes that are not available.
   */
  async probe(): Promise<void> {
    const { settings } = this.#options
    if (settings === undefined || this.#programPlugins === undefined) return
    const all = [
      newMkdirPlugin(this.#pluginEnvironment(settings)),
      ...(await this.#programPlugins.probe()),
    ]
    this.#plugins = new Map(all.map((plugin) => [plugin.name, plugin]))
    this.#restoreMissing()
  }

  /**
   * Restores the volumes of the previous agent process. Plugin volumes are created again, because
   * they may have to be mounted after a boot. A missing directory is not re-created, because an
   * empty one would hide the loss of its data.
   */
  async restore(volumes: readonly StoredVolume[]): Promise<void> {
    for (const volume of volumes) this.#stored.set(volume.id, volume)
    const directoryVolumes = volumes.filter(({ plugin }) => !usesProgramPlugin(plugin))
    await Promise.all(directoryVolumes.map(({ id }) => this.#restoreVolume(id)))
    // Plugins may be slow, and allocations without these volumes must not wait for them.
    this.#restoreMissing()
  }

  /** Resolves when no restore of the volume is running or waiting. */
  async waitForRestore(name: string): Promise<void> {
    const volume = [...this.#stored.values()].find((kept) => kept.name === name)
    await (volume && this.#restores.get(volume.id))
  }

  /** The available volumes by name, configured and dynamic. */
  hostVolumes(): ConfiguredVolumes {
    const dynamicVolumes = this.#availableVolumes().map((volume) => {
      const { name: Name, path: Path, id } = volume
      return [Name, { Name, Path, ReadOnly: false, ID: id }] as const
    })
    return { ...Object.fromEntries(dynamicVolumes), ...this.#options.configured }
  }

  /** Returns the node attributes of the volume plugins. */
  attributes(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#plugins].map(([name, { version }]) => [volumePluginAttribute(name), version]),
    )
  }

  create(volume: VolumeOnNode): Promise<MadeVolume> {
    return this.#runOperation(volume, async () => {
      const plugin = this.#requirePlugin(volume)
      this.#requireNameAndCapacity(volume)
      await mkdir(this.#requireSettings().volumesDir, { recursive: true, mode: 0o711 })
      const created = await plugin.create(volume)
      await this.#storeVolume({ ...volume, ...created })
      return created
    })
  }

  register(volume: VolumeOnNode): Promise<MadeVolume> {
    return this.#runOperation(volume, async () => {
      this.#requireNameAndCapacity(volume)
      if (!isHostPath(volume.path))
        throw volumePluginRefusal(`HostPath ${hostPathRequirement(volume.path)}`)
      await requireDirectory(volume.path)
      await this.#requireOutsideDataDirectory(volume.path)
      await this.#storeVolume({ ...volume, bytes: 0 })
      return { path: volume.path, bytes: 0 }
    })
  }

  /**
   * Removes a volume with its data; a registered directory stays as it is. While its plugin works,
   * the volume is not offered to the servers, so that nothing is placed on it.
   */
  remove(volume: VolumeOnNode): Promise<void> {
    return this.#runOperation(volume, async () => {
      const stored = this.#stored.get(volume.id)
      const wasAvailable = this.#availableIds.delete(volume.id)
      if (wasAvailable) this.#options.onChange()
      try {
        this.#requireUnmounted(stored ?? volume)
        await this.#removeData(volume, stored)
      } catch (thrown) {
        if (wasAvailable) this.#availableIds.add(volume.id)
        if (wasAvailable) this.#options.onChange()
        throw thrown
      }
      this.#restoreErrors.delete(volume.id)
      if (!this.#stored.delete(volume.id)) return
      await this.#options.saveVolumes([...this.#stored.values()])
    })
  }

  /** The servers check it as well, but may have placed an allocation since. */
  #requireUnmounted({ name }: VolumeOnNode): void {
    const allocationId = this.#options.findVolumeUser(name)
    if (allocationId === undefined) return
    throw volumePluginRefusal(
      `volume ${JSON.stringify(name)} is mounted by allocation ${allocationId}`,
    )
  }

  async #removeData(volume: VolumeOnNode, stored: StoredVolume | undefined): Promise<void> {
    const { plugin, path } = stored ?? volume
    if (plugin !== '') await this.#requirePlugin({ plugin }).remove({ ...volume, path })
  }

  #pluginEnvironment({ volumesDir }: VolumeSettings): PluginNode {
    return { volumesDir, nodeId: () => this.#options.nodeId() }
  }

  #requireSettings(): VolumeSettings {
    const { settings } = this.#options
    if (settings !== undefined) return settings
    throw new RemoteRefusal(501, 'this node does not support dynamic host volumes')
  }

  #availableVolumes(): readonly StoredVolume[] {
    return [...this.#availableIds].flatMap((id) => this.#stored.get(id) ?? [])
  }

  #requirePlugin({ plugin }: Pick<VolumeOnNode, 'plugin'>): VolumePlugin {
    const found = this.#plugins.get(plugin)
    if (found !== undefined) return found
    throw volumePluginRefusal(
      `this node has no volume plugin ${JSON.stringify(plugin)}: ` +
        'install it in the directory client.host_volume_plugin_dir',
    )
  }

  async #runOperation<T>({ id }: VolumeOnNode, work: () => Promise<T>): Promise<T> {
    this.#requireSettings()
    if (!UUID.test(id)) throw new RemoteRefusal(400, 'the ID of a volume is a UUID')
    return await this.#serialize(id, work)
  }

  async #serialize<T>(id: string, work: () => Promise<T>): Promise<T> {
    const previous = this.#operations.get(id) ?? Promise.resolve()
    const operation = previous.then(work, work)
    const settled = operation.catch(() => undefined)
    this.#operations.set(id, settled)
    try {
      return await operation
    } finally {
      if (this.#operations.get(id) === settled) this.#operations.delete(id)
    }
  }

  /**
   * The servers check names and number as well. The node checks them again, because its description
   * must hold one volume for each name.
   */
  #requireNameAndCapacity({ id, name }: VolumeOnNode): void {
    const { configured } = this.#options
    const others = [...this.#stored.values()].filter((volume) => volume.id !== id)
    if (Object.hasOwn(configured, name) || others.some((volume) => volume.name === name))
      throw volumePluginRefusal(`volume ${JSON.stringify(name)} already exists on this node`)
    const max = LIMITS.hostVolumesPerNodeMax
    if (others.length + Object.keys(configured).length >= max)
      throw volumePluginRefusal(
        `this node has reached its limit of ${max} host volumes: delete one or use another node`,
      )
  }

  /** Rejects a path that contains the agent's data directory or is inside it. */
  async #requireOutsideDataDirectory(path: string): Promise<void> {
    const requestedPath = await realpath(path)
    const dataPath = await realpath(this.#requireSettings().dataDirectory)
    const isWithin = (inner: string, outer: string): boolean =>
      inner === outer || outer === '/' || inner.startsWith(`${outer}/`)
    if (isWithin(requestedPath, dataPath) || isWithin(dataPath, requestedPath))
      throw volumePluginRefusal(
        `${path} contains or is part of the agent's data directory, which jobs must not mount`,
      )
  }

  async #storeVolume(volume: StoredVolume): Promise<void> {
    this.#stored.set(volume.id, volume)
    await this.#options.saveVolumes([...this.#stored.values()])
    this.#availableIds.add(volume.id)
    this.#options.onChange()
  }

  /** Retries volumes that are not available, except those that an operation is changing. */
  #restoreMissing(): void {
    for (const { id } of this.#stored.values()) {
      if (this.#availableIds.has(id) || this.#operations.has(id) || this.#restores.has(id)) continue
      this.#restores.set(id, this.#restoreSerialized(id))
    }
  }

  async #restoreSerialized(id: string): Promise<void> {
    const isRestored = await this.#restoreSemaphore.run(() =>
      this.#serialize(id, () => this.#restoreVolume(id)),
    )
    this.#restores.delete(id)
    if (isRestored) this.#options.onChange()
  }

  /** Returns whether the volume has become available; logs each new reason why it has not. */
  async #restoreVolume(id: string): Promise<boolean> {
    const volume = this.#stored.get(id)
    if (volume === undefined || this.#availableIds.has(id)) return false
    try {
      if (usesProgramPlugin(volume.plugin)) await this.#requirePlugin(volume).create(volume)
      await requireDirectory(volume.path)
    } catch (thrown) {
      const { name } = volume
      const error = errorMessage(thrown)
      if (this.#restoreErrors.get(id) !== error)
        this.#options.log.error({ volume: id, name, error }, 'volume not available')
      this.#restoreErrors.set(id, error)
      return false
    }
    this.#restoreErrors.delete(id)
    this.#availableIds.add(id)
    return true
  }
}

function usesProgramPlugin(plugin: string): boolean {
  return plugin !== '' && plugin !== BUILT_IN_VOLUME_PLUGIN
}
