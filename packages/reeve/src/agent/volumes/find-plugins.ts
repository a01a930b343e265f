import { constants } from 'node:fs'
import { access, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { BUILT_IN_VOLUME_PLUGIN } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { Log } from '../log.ts'
import { isMissing } from '../store/state-file.ts'
import {
  probeProgram,
  programPlugin,
  type PluginPlace,
  type VolumePlugin,
} from './volume-plugin.ts'

interface FindPluginsOptions extends PluginPlace {
  /** Every program in it is a plugin, named as its file. */
  readonly pluginDir: string
  readonly log: Log
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/
const PLUGINS_MAX = 64
/** Whoever may write a program that root runs is root. */
const WRITABLE_BY_ALL = 0o002

/**
 * The programs of the plugin directory. Each is asked what it is when it is new or has changed;
 * operators add and replace them while the agent runs.
 */
export class ProgramPlugins {
  readonly #options: FindPluginsOptions
  /** What was found, by a text that changes with the file. */
  #known = new Map<string, VolumePlugin | undefined>()

  constructor(options: FindPluginsOptions) {
    this.#options = options
  }

  async probe(): Promise<readonly VolumePlugin[]> {
    const found = new Map<string, VolumePlugin | undefined>()
    for (const name of (await this.#names()).slice(0, PLUGINS_MAX)) {
      const path = join(this.#options.pluginDir, name)
      const version = await fileVersion(path)
      if (version === undefined) continue
      const key = `${name} ${version}`
      found.set(key, this.#known.has(key) ? this.#known.get(key) : await this.#ask(name, path))
    }
    this.#known = found
    return [...found.values()].filter((plugin) => plugin !== undefined)
  }

  async #names(): Promise<readonly string[]> {
    const { pluginDir, log } = this.#options
    try {
      const names = await readdir(pluginDir)
      return names.filter((name) => NAME.test(name) && name !== BUILT_IN_VOLUME_PLUGIN).toSorted()
    } catch (thrown) {
      if (!isMissing(thrown)) log.warn({ error: errorMessage(thrown) }, 'volume plugins not read')
      return []
    }
  }

  /** Probes a program. One that is not a plugin is logged once, and probed again when it changes. */
  async #ask(name: string, path: string): Promise<VolumePlugin | undefined> {
    try {
      const { mode } = await stat(path)
      if ((mode & WRITABLE_BY_ALL) !== 0) throw new Error('every user may write it: run chmod o-w')
      const version = await probeProgram(path)
      return programPlugin({ ...this.#options, name, path, version })
    } catch (thrown) {
      this.#options.log.warn({ plugin: name, error: errorMessage(thrown) }, 'no volume plugin')
      return undefined
    }
  }
}

/** Undefined for what cannot be run. */
async function fileVersion(path: string): Promise<string | undefined> {
  try {
    const found = await stat(path)
    if (!found.isFile()) return undefined
    await access(path, constants.X_OK)
    return `${found.ino} ${found.size} ${found.mtimeMs} ${found.mode}`
  } catch {
    return undefined
  }
}
