import { constants } from 'node:fs'
import { access, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BUILT_IN_VOLUME_PLUGIN } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Logger } from '../log.ts'
import { isMissing } from '../store/state-file.ts'
import {
  fingerprintPlugin,
  newProgramPlugin,
  parseFingerprint,
  type PluginNode,
  type VolumePlugin,
} from './volume-plugin.ts'

interface ProgramPluginsOptions extends PluginNode {
  /** Every program in it is a plugin, named as its file. */
  readonly pluginDir: string
  readonly log: Logger
}

const PLUGIN_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
const PLUGINS_MAX = 64
/** A program that root runs must not be writable by other users. */
const WRITABLE_BY_ALL = 0o002

/** The result of probing a program. */
interface PluginProbe {
  readonly plugin?: VolumePlugin
  /** Why the program is not used. */
  readonly failure?: string
  /** The failure may pass although the file stays the same, such as a timeout. */
  readonly isTransient?: boolean
}

/**
 * The executables of the plugin directory. Each is probed when it is new or has changed; operators
 * add and replace them while the agent runs.
 */
export class ProgramPlugins {
  readonly #options: ProgramPluginsOptions
  /** Results by name and file version. */
  #probesByVersion: ReadonlyMap<string, PluginProbe> = new Map()

  constructor(options: ProgramPluginsOptions) {
    this.#options = options
  }

  async probe(): Promise<readonly VolumePlugin[]> {
    const names = (await this.#listNames()).slice(0, PLUGINS_MAX)
    const probes = await Promise.all(names.map((name) => this.#probeFile(name)))
    this.#probesByVersion = new Map(probes.filter((probe) => probe !== undefined))
    return [...this.#probesByVersion.values()].flatMap(({ plugin }) => plugin ?? [])
  }

  /** Each new failure is logged once. */
  async #probeFile(name: string): Promise<readonly [string, PluginProbe] | undefined> {
    const path = join(this.#options.pluginDir, name)
    const version = await fileVersion(path)
    if (version === undefined) return undefined
    const key = `${name} ${version}`
    const cachedProbe = this.#probesByVersion.get(key)
    if (cachedProbe !== undefined && cachedProbe.isTransient !== true) return [key, cachedProbe]
    const probe = await this.#probeProgram(name, path)
    const { failure: error } = probe
    if (error !== undefined && error !== cachedProbe?.failure)
      this.#options.log.warn({ plugin: name, error }, 'volume plugin rejected')
    return [key, probe]
  }

  async #listNames(): Promise<readonly string[]> {
    const { pluginDir, log } = this.#options
    try {
      const names = await readdir(pluginDir)
      return names
        .filter((name) => PLUGIN_NAME.test(name) && name !== BUILT_IN_VOLUME_PLUGIN)
        .toSorted()
    } catch (thrown) {
      if (!isMissing(thrown)) log.warn({ error: errorMessage(thrown) }, 'volume plugins not read')
      return []
    }
  }

  async #probeProgram(name: string, path: string): Promise<PluginProbe> {
    let output: string
    try {
      const { mode } = await stat(path)
      if ((mode & WRITABLE_BY_ALL) !== 0)
        return { failure: `the file is writable by all users: run chmod o-w ${path}` }
      output = await fingerprintPlugin(path)
    } catch (thrown) {
      return { failure: errorMessage(thrown), isTransient: true }
    }
    try {
      const version = parseFingerprint(output)
      return { plugin: newProgramPlugin({ ...this.#options, name, path, version }) }
    } catch (thrown) {
      return { failure: errorMessage(thrown) }
    }
  }
}

/** Undefined for what cannot be run. */
async function fileVersion(path: string): Promise<string | undefined> {
  try {
    const stats = await stat(path)
    if (!stats.isFile()) return undefined
    await access(path, constants.X_OK)
    return `${stats.ino} ${stats.size} ${stats.mtimeMs} ${stats.mode}`
  } catch {
    return undefined
  }
}
