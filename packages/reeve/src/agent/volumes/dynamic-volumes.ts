import { mkdir, realpath } from 'node:fs/promises'
import {
  BUILT_IN_VOLUME_PLUGIN,
  type MadeVolume,
  type NodeRegistration,
  type VolumeOnNode,
} from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import { isHostPath, LIMITS, volumePluginAttribute } from '../../model/index.ts'
import type { Log } from '../log.ts'
import { RemoteRefusal } from '../remote/remote-refusal.ts'
import { Slots } from '../wait.ts'
import { ProgramPlugins } from './find-plugins.ts'
import {
  hostPathRule,
  mkdirPlugin,
  pluginFailure,
  requireDirectory,
  type PluginPlace,
  type VolumePlugin,
} from './volume-plugin.ts'

/** Directories for volumes and volume plugins. */
export interface VolumeSettings {
  readonly volumesDir: string
  readonly pluginDir: string
  /** Must not be mounted by jobs: it contains the state of the agent and the servers. */
  readonly dataDirectory: string
}

/** A stored volume: its definition and the result of its creation. */
export interface KeptVolume extends VolumeOnNode {
  readonly bytes: number
}

type Configured = NonNullable<NodeRegistration['HostVolumes']>

interface DynamicVolumesOptions {
  /** Undefined if only configured volumes are supported. */
  readonly settings: VolumeSettings | undefined
  /** Configured volumes; dynamic ones cannot use their names. */
  readonly configured: Configured
  readonly log: Log
  nodeId(): string
  /** Returns the ID of an allocation that mounts the volume and has not ended. */
  mounterOf(name: string): string | undefined
  /** Stores the list of volumes; durable when it resolves. */
  keep(volumes: readonly KeptVolume[]): Promise<void>
  /** Called when the set of available volumes changes. */
  changed(): void
}

/** Volumes that are restored at the same time. */
const RESTORES_MAX = 4
const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The dynamic host volumes of this node, created or registered through the API. */
export class DynamicVolumes {
  readonly #options: DynamicVolumesOptions
  readonly #kept = new Map<string, KeptVolume>()
  /** IDs of stored volumes that are available to jobs. */
  readonly #ready = new Set<string>()
  /** The last operation on each volume: the next one waits for it. */
  readonly #busy = new Map<string, Promise<unknown>>()
  /** Restores that run or wait for a slot, by the ID of the volume. */
  readonly #restores = new Map<string, Promise<void>>()
  readonly #slots = new Slots(RESTORES_MAX)
  /** Why a volume could not be restored, by its ID: logged again only when it changes. */
  readonly #failures = new Map<string, string>()
  readonly #programs: ProgramPlugins | undefined
  #plugins: ReadonlyMap<string, VolumePlugin> = new Map()

  constructor(options: DynamicVolumesOptions) {
    this.#options = options
    const { settings, log } = options
    if (settings === undefined) return
    this.#programs = new ProgramPlugins({ ...this.#place(settings), ...settings, log })
  }

  /**
   * Looks for plugins, which operators add and replace while the agent runs, and retries to restore
   * the volumes that are not available.
   */
  async probe(): Promise<void> {
    const { settings } = this.#options
    if (settings === undefined || this.#programs === undefined) return
    const all = [mkdirPlugin(this.#place(settings)), ...(await this.#programs.probe())]
    this.#plugins = new Map(all.map((plugin) => [plugin.name, plugin]))
    this.#restoreMissing()
  }

  /**
   * Restores the volumes of the previous agent process. Plugin volumes are created again, because
   * they may have to be mounted after a boot. A missing directory is not re-created, because an
   * empty one would hide the loss of its data.
   */
  async restore(volumes: readonly KeptVolume[]): Promise<void> {
    for (const volume of volumes) this.#kept.set(volume.id, volume)
    const found = volumes.filter(({ plugin }) => !isProgram(plugin))
    await Promise.all(found.map(({ id }) => this.#restoreOne(id)))
    // Plugins may be slow, and allocations without these volumes must not wait for them.
    this.#restoreMissing()
  }

  /** Resolves when no restore of the volume is running or waiting. */
  async restored(name: string): Promise<void> {
    const volume = [...this.#kept.values()].find((kept) => kept.name === name)
    await (volume && this.#restores.get(volume.id))
  }

  /** The available volumes by name, configured and dynamic. */
  hostVolumes(): Configured {
    const own = this.#mountable().map((volume) => {
      const { name: Name, path: Path, id } = volume
      return [Name, { Name, Path, ReadOnly: false, ID: id }] as const
    })
    return { ...Object.fromEntries(own), ...this.#options.configured }
  }

  /** Returns the node attributes of the volume plugins. */
  attributes(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#plugins].map(([name, { version }]) => [volumePluginAttribute(name), version]),
    )
  }

  create(volume: VolumeOnNode): Promise<MadeVolume> {
    return this.#request(volume, async () => {
      const plugin = this.#pluginOf(volume)
      this.#requireRoom(volume)
      await mkdir(this.#settings().volumesDir, { recursive: true, mode: 0o711 })
      const made = await plugin.create(volume)
      await this.#keep({ ...volume, ...made })
      return made
    })
  }

  register(volume: VolumeOnNode): Promise<MadeVolume> {
    return this.#request(volume, async () => {
      this.#requireRoom(volume)
      if (!isHostPath(volume.path)) throw pluginFailure(`HostPath ${hostPathRule(volume.path)}`)
      await requireDirectory(volume.path)
      await this.#requireForeign(volume.path)
      await this.#keep({ ...volume, bytes: 0 })
      return { path: volume.path, bytes: 0 }
    })
  }

  /**
   * Removes a volume with its data; a registered directory stays as it is. While its plugin works,
   * the volume is not offered to the servers, so that nothing is placed on it.
   */
  remove(volume: VolumeOnNode): Promise<void> {
    return this.#request(volume, async () => {
      const known = this.#kept.get(volume.id)
      const wasReady = this.#ready.delete(volume.id)
      if (wasReady) this.#options.changed()
      try {
        this.#requireUnmounted(known ?? volume)
        await this.#removeData(volume, known)
      } catch (thrown) {
        if (wasReady) this.#ready.add(volume.id)
        if (wasReady) this.#options.changed()
        throw thrown
      }
      this.#failures.delete(volume.id)
      if (!this.#kept.delete(volume.id)) return
      await this.#options.keep([...this.#kept.values()])
    })
  }

  /** The servers check it as well, but may have placed an allocation since. */
  #requireUnmounted({ name }: VolumeOnNode): void {
    const mounter = this.#options.mounterOf(name)
    if (mounter === undefined) return
    throw pluginFailure(`volume ${JSON.stringify(name)} is mounted by allocation ${mounter}`)
  }

  async #removeData(volume: VolumeOnNode, known: KeptVolume | undefined): Promise<void> {
    const { plugin, path } = known ?? volume
    if (plugin !== '') await this.#pluginOf({ plugin }).remove({ ...volume, path })
  }

  #place({ volumesDir }: VolumeSettings): PluginPlace {
    return { volumesDir, nodeId: () => this.#options.nodeId() }
  }

  #settings(): VolumeSettings {
    const { settings } = this.#options
    if (settings !== undefined) return settings
    throw new RemoteRefusal(501, 'this node does not support dynamic host volumes')
  }

  #mountable(): readonly KeptVolume[] {
    return [...this.#ready].flatMap((id) => this.#kept.get(id) ?? [])
  }

  #pluginOf({ plugin }: Pick<VolumeOnNode, 'plugin'>): VolumePlugin {
    const found = this.#plugins.get(plugin)
    if (found !== undefined) return found
    throw pluginFailure(
      `this node has no volume plugin ${JSON.stringify(plugin)}: ` +
        'install it in the directory client.host_volume_plugin_dir',
    )
  }

  async #request<T>({ id }: VolumeOnNode, work: () => Promise<T>): Promise<T> {
    this.#settings()
    if (!ID.test(id)) throw new RemoteRefusal(400, 'the ID of a volume is a UUID')
    return await this.#oneAtATime(id, work)
  }

  async #oneAtATime<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#busy.get(id) ?? Promise.resolve()
    const done = before.then(work, work)
    const settled = done.catch(() => undefined)
    this.#busy.set(id, settled)
    try {
      return await done
    } finally {
      if (this.#busy.get(id) === settled) this.#busy.delete(id)
    }
  }

  /**
   * The servers check names and number as well. The node checks them again, because its description
   * must hold one volume for each name.
   */
  #requireRoom({ id, name }: VolumeOnNode): void {
    const { configured } = this.#options
    const others = [...this.#kept.values()].filter((volume) => volume.id !== id)
    if (Object.hasOwn(configured, name) || others.some((volume) => volume.name === name))
      throw pluginFailure(`volume ${JSON.stringify(name)} already exists on this node`)
    const max = LIMITS.hostVolumesPerNodeMax
    if (others.length + Object.keys(configured).length >= max)
      throw pluginFailure(
        `this node has reached its limit of ${max} host volumes: delete one or use another node`,
      )
  }

  /** Rejects a path that contains the agent's data directory or is inside it. */
  async #requireForeign(path: string): Promise<void> {
    const asked = await realpath(path)
    const own = await realpath(this.#settings().dataDirectory)
    const isWithin = (inner: string, outer: string): boolean =>
      inner === outer || outer === '/' || inner.startsWith(`${outer}/`)
    if (isWithin(asked, own) || isWithin(own, asked))
      throw pluginFailure(
        `${path} contains or is part of the agent's data directory, which jobs must not mount`,
      )
  }

  async #keep(volume: KeptVolume): Promise<void> {
    this.#kept.set(volume.id, volume)
    await this.#options.keep([...this.#kept.values()])
    this.#ready.add(volume.id)
    this.#options.changed()
  }

  /** A volume that an operation is changing is left to it, or to the next probe. */
  #restoreMissing(): void {
    for (const { id } of this.#kept.values()) {
      if (this.#ready.has(id) || this.#busy.has(id) || this.#restores.has(id)) continue
      this.#restores.set(id, this.#restoreInTurn(id))
    }
  }

  async #restoreInTurn(id: string): Promise<void> {
    const isRestored = await this.#slots.run(() => this.#oneAtATime(id, () => this.#restoreOne(id)))
    this.#restores.delete(id)
    if (isRestored) this.#options.changed()
  }

  /** Returns whether the volume has become available; logs each new reason why it has not. */
  async #restoreOne(id: string): Promise<boolean> {
    const volume = this.#kept.get(id)
    if (volume === undefined || this.#ready.has(id)) return false
    try {
      if (isProgram(volume.plugin)) await this.#pluginOf(volume).create(volume)
      await requireDirectory(volume.path)
    } catch (thrown) {
      const { name } = volume
      const error = errorMessage(thrown)
      if (this.#failures.get(id) !== error)
        this.#options.log.error({ volume: id, name, error }, 'volume not available')
      this.#failures.set(id, error)
      return false
    }
    this.#failures.delete(id)
    this.#ready.add(id)
    return true
  }
}

function isProgram(plugin: string): boolean {
  return plugin !== '' && plugin !== BUILT_IN_VOLUME_PLUGIN
}
