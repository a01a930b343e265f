import { mkdir, realpath } from 'node:fs/promises'
import {
  BUILT_IN_VOLUME_PLUGIN,
  type MadeVolume,
  type NodeRegistration,
  type VolumeOnNode,
} from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import { LIMITS, volumePluginAttribute } from '../../model/index.ts'
import type { Log } from '../log.ts'
import { RemoteRefusal } from '../remote/remote-refusal.ts'
import type { HostVolume } from '../task/volume-hook.ts'
import { ProgramPlugins } from './find-plugins.ts'
import {
  isVolumePath,
  mkdirPlugin,
  pluginFailure,
  requireDirectory,
  type PluginPlace,
  type VolumePlugin,
} from './volume-plugin.ts'

/** Where an agent has its volumes and the programs that make them. */
export interface VolumeSettings {
  readonly volumesDir: string
  readonly pluginDir: string
  /** Holds what the agent and its servers must not lose, so no job may have it. */
  readonly dataDirectory: string
}

/** A volume as the agent keeps it: what it was asked for, and what was made. */
export interface KeptVolume extends VolumeOnNode {
  readonly bytes: number
}

type Configured = NonNullable<NodeRegistration['HostVolumes']>

interface DynamicVolumesOptions {
  /** Undefined: the node has no volumes but the configured ones. */
  readonly settings: VolumeSettings | undefined
  /** Those of the configuration: their names are taken. */
  readonly configured: Configured
  readonly log: Log
  nodeId(): string
  /** Replaces what is kept; durable when it resolves. */
  keep(volumes: readonly KeptVolume[]): Promise<void>
  /** The node has other volumes than before. */
  changed(): void
}

const ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The volumes that requests have made on this node or registered with it. */
export class DynamicVolumes {
  readonly #options: DynamicVolumesOptions
  readonly #kept = new Map<string, KeptVolume>()
  /** Kept, and there: what jobs may mount. */
  readonly #ready = new Set<string>()
  /** The last operation on each volume: the next one waits for it. */
  readonly #busy = new Map<string, Promise<unknown>>()
  readonly #programs: ProgramPlugins | undefined
  #plugins: ReadonlyMap<string, VolumePlugin> = new Map()

  constructor(options: DynamicVolumesOptions) {
    this.#options = options
    const { settings, log } = options
    if (settings === undefined) return
    this.#programs = new ProgramPlugins({ ...this.#place(settings), ...settings, log })
  }

  /** Looks for plugins. Operators add and replace them while the agent runs. */
  async probe(): Promise<void> {
    const { settings } = this.#options
    if (settings === undefined || this.#programs === undefined) return
    const all = [mkdirPlugin(this.#place(settings)), ...(await this.#programs.probe())]
    this.#plugins = new Map(all.map((plugin) => [plugin.name, plugin]))
  }

  /**
   * Takes over what an agent before this one has kept. A program makes its volumes again, because
   * after a boot they may have to be mounted. A directory that is missing stays so, because an
   * empty one in its place would pass for it.
   */
  async restore(volumes: readonly KeptVolume[]): Promise<void> {
    for (const volume of volumes) this.#kept.set(volume.id, volume)
    const found = volumes.filter(({ plugin }) => !isProgram(plugin))
    await Promise.all(found.map((volume) => this.#restoreOne(volume)))
    // A program may take long, and what runs on the node must not wait for it.
    for (const volume of volumes.filter(({ plugin }) => isProgram(plugin)))
      void this.#restoreOne(volume).then(() => this.#options.changed())
  }

  /** By name, as the node tells the servers. */
  hostVolumes(): Configured {
    const own = this.#mountable().map((volume) => {
      const { name: Name, path: Path, id } = volume
      return [Name, { Name, Path, ReadOnly: false, ID: id }] as const
    })
    return { ...Object.fromEntries(own), ...this.#options.configured }
  }

  /** By name, as tasks mount them. */
  mounts(): Readonly<Record<string, HostVolume>> {
    return this.hostVolumes()
  }

  /** What the node says of its plugins. */
  attributes(): Readonly<Record<string, string>> {
    return Object.fromEntries(
      [...this.#plugins].map(([name, { version }]) => [volumePluginAttribute(name), version]),
    )
  }

  create(volume: VolumeOnNode): Promise<MadeVolume> {
    return this.#oneAtATime(volume, async () => {
      const plugin = this.#pluginOf(volume)
      this.#requireRoom(volume)
      await mkdir(this.#settings().volumesDir, { recursive: true, mode: 0o711 })
      const made = await plugin.create(volume)
      await this.#keep({ ...volume, ...made })
      return made
    })
  }

  register(volume: VolumeOnNode): Promise<MadeVolume> {
    return this.#oneAtATime(volume, async () => {
      this.#requireRoom(volume)
      if (!isVolumePath(volume.path)) throw pluginFailure(`${volume.path} is no path of a volume`)
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
    return this.#oneAtATime(volume, async () => {
      const known = this.#kept.get(volume.id)
      const wasReady = this.#ready.delete(volume.id)
      if (wasReady) this.#options.changed()
      try {
        await this.#removeData(volume, known)
      } catch (thrown) {
        if (wasReady) this.#ready.add(volume.id)
        if (wasReady) this.#options.changed()
        throw thrown
      }
      if (!this.#kept.delete(volume.id)) return
      await this.#options.keep([...this.#kept.values()])
    })
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
    throw new RemoteRefusal(501, 'this node has no dynamic volumes')
  }

  #mountable(): readonly KeptVolume[] {
    return [...this.#ready].flatMap((id) => this.#kept.get(id) ?? [])
  }

  #pluginOf({ plugin }: Pick<VolumeOnNode, 'plugin'>): VolumePlugin {
    const found = this.#plugins.get(plugin)
    if (found !== undefined) return found
    throw pluginFailure(`this node has no volume plugin ${JSON.stringify(plugin)}`)
  }

  async #oneAtATime<T>({ id }: VolumeOnNode, work: () => Promise<T>): Promise<T> {
    this.#settings()
    if (!ID.test(id)) throw new RemoteRefusal(400, 'the ID of a volume is a UUID')
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
      throw pluginFailure(`this node has a volume ${JSON.stringify(name)} already`)
    const max = LIMITS.hostVolumesPerNodeMax
    if (others.length + Object.keys(configured).length >= max)
      throw pluginFailure(`this node has ${max} volumes: it takes no more`)
  }

  /** The agent's own files are no volume, nor is a directory that they are in. */
  async #requireForeign(path: string): Promise<void> {
    const asked = await realpath(path)
    const own = await realpath(this.#settings().dataDirectory)
    const isWithin = (inner: string, outer: string): boolean =>
      inner === outer || outer === '/' || inner.startsWith(`${outer}/`)
    if (isWithin(asked, own) || isWithin(own, asked))
      throw pluginFailure(`${path} holds the data of this agent, which no job may have`)
  }

  async #keep(volume: KeptVolume): Promise<void> {
    this.#kept.set(volume.id, volume)
    await this.#options.keep([...this.#kept.values()])
    this.#ready.add(volume.id)
    this.#options.changed()
  }

  async #restoreOne(volume: KeptVolume): Promise<void> {
    const { log } = this.#options
    try {
      if (isProgram(volume.plugin)) await this.#pluginOf(volume).create(volume)
      await requireDirectory(volume.path)
      this.#ready.add(volume.id)
    } catch (thrown) {
      const { id, name } = volume
      log.error({ volume: id, name, error: errorMessage(thrown) }, 'volume not available')
    }
  }
}

function isProgram(plugin: string): boolean {
  return plugin !== '' && plugin !== BUILT_IN_VOLUME_PLUGIN
}
