import { constants } from 'node:fs'
import { access, chmod, chown, mkdir, readdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BUILT_IN_VOLUME_PLUGIN, type MadeVolume, type VolumeOnNode } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import { isHostPath, LIMITS } from '../../model/index.ts'
import type { Logger } from '../log.ts'
import { RemoteRefusal } from '../remote/remote-refusal.ts'
import { runProgram } from '../run-program.ts'
import { removeTree } from '../store/safe-directory.ts'
import { isMissing } from '../store/state-file.ts'

/** Creates and deletes volumes on a node. Both operations are idempotent. */
export interface VolumePlugin {
  readonly name: string
  readonly version: string
  create(volume: VolumeOnNode): Promise<MadeVolume>
  /** Succeeds also if the volume was never created. */
  remove(volume: VolumeOnNode): Promise<void>
}

/** The node that plugins work for. */
export interface PluginNode {
  /** Directory in which plugins create volumes. */
  readonly volumesDir: string
  readonly nodeId: () => string
}

/** Returns the error for a plugin that failed or rejected an operation. */
export function volumePluginRefusal(message: string): RemoteRefusal {
  return new RemoteRefusal(400, message, { code: 'volume-plugin-failed' })
}

/** Creates a directory. Its capacity is not limited. */
export function newMkdirPlugin({ volumesDir }: PluginNode): VolumePlugin {
  const pathOf = ({ id }: VolumeOnNode): string => join(volumesDir, id)
  return {
    name: BUILT_IN_VOLUME_PLUGIN,
    version: '1.0.0',
    async create(volume) {
      const { mode, uid, gid } = parseDirectoryParameters(volume.parameters)
      const path = pathOf(volume)
      try {
        await mkdir(path, { recursive: true, mode: 0o700 })
        // Unlike mkdir, chmod ignores the umask.
        if (mode !== undefined) await chmod(path, mode)
        if (uid !== undefined || gid !== undefined) await chown(path, uid ?? -1, gid ?? -1)
      } catch (thrown) {
        throw volumePluginRefusal(`the directory could not be created: ${errorMessage(thrown)}`)
      }
      return { path, bytes: 0 }
    },
    async remove(volume) {
      await removeTree(pathOf(volume))
    },
  }
}

const OCTAL_MODE = /^0?[0-7]{3,4}$/
const NUMERIC_ID = /^\d{1,10}$/
const NUMERIC_ID_MAX = 2 ** 32 - 2

function parseDirectoryParameters(parameters: VolumeOnNode['parameters']) {
  const { mode, uid, gid, ...unknownParameters } = parameters
  const [unknown] = Object.keys(unknownParameters)
  if (unknown !== undefined)
    throw volumePluginRefusal(
      `unknown parameter ${JSON.stringify(unknown)}: plugin mkdir supports mode, uid and gid`,
    )
  if (mode !== undefined && !OCTAL_MODE.test(mode))
    throw volumePluginRefusal('parameter "mode" must be an octal number such as "0750"')
  return {
    mode: mode === undefined ? undefined : Number.parseInt(mode, 8),
    uid: parseNumericId('uid', uid),
    gid: parseNumericId('gid', gid),
  }
}

function parseNumericId(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!NUMERIC_ID.test(text) || Number(text) > NUMERIC_ID_MAX)
    throw volumePluginRefusal(
      `parameter "${name}" must be a whole number from 0 to ${NUMERIC_ID_MAX}`,
    )
  return Number(text)
}

interface ProgramPluginOptions extends PluginNode {
  readonly name: string
  readonly path: string
  readonly version: string
}

/** A plugin that is an executable: its argument names the operation, its environment the volume. */
function newProgramPlugin(options: ProgramPluginOptions): VolumePlugin {
  const { name, path: program, version } = options
  return {
    name,
    version,
    async create(volume) {
      const output = await runPluginProgram(
        program,
        'create',
        volumeEnvironment(options, volume, 'create'),
      )
      const result = parseJsonObject(output)
      const { path, bytes } = result
      if (typeof path !== 'string' || !isHostPath(path))
        throw volumePluginRefusal(
          `plugin ${name} must print {"path": …} on its standard output: the path ` +
            hostPathRequirement(path),
        )
      if (bytes !== undefined && (typeof bytes !== 'number' || !isByteCount(bytes)))
        throw volumePluginRefusal(`plugin ${name} must print "bytes" as a whole number`)
      await requireDirectory(path)
      return { path, bytes: bytes ?? 0 }
    },
    async remove(volume) {
      await runPluginProgram(program, 'delete', volumeEnvironment(options, volume, 'delete'))
    },
  }
}

/** Returns the output of the operation `fingerprint`. */
async function fingerprintPlugin(program: string): Promise<string> {
  return await runPluginProgram(program, 'fingerprint', pluginEnvironment(program, 'fingerprint'), {
    timeoutMs: FINGERPRINT_TIMEOUT_MS,
  })
}

/** Returns the version in the output of `fingerprint`; throws if it is not that of a plugin. */
function parseFingerprint(output: string): string {
  const { version } = parseJsonObject(output)
  if (typeof version !== 'string' || !PLUGIN_VERSION.test(version))
    throw volumePluginRefusal(
      'operation "fingerprint" must print {"version": "1.0.0"} or similar on its standard output',
    )
  return version
}

const FINGERPRINT_TIMEOUT_MS = 5_000
const PLUGIN_VERSION = /^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$/

/** Returns the rest of the message about a path that is not valid. */
export function hostPathRequirement(value: unknown): string {
  const max = LIMITS.hostVolumePathCharsMax
  const displayed = (JSON.stringify(value) ?? 'nothing').slice(0, max)
  return `must be an absolute path of at most ${max} characters without "." or "..": got ${displayed}`
}

function isByteCount(bytes: number): boolean {
  return Number.isSafeInteger(bytes) && bytes >= 0
}

export async function requireDirectory(path: string): Promise<void> {
  const stats = await stat(path).catch((thrown: unknown) => {
    throw volumePluginRefusal(isMissing(thrown) ? `${path} does not exist` : errorMessage(thrown))
  })
  if (!stats.isDirectory()) throw volumePluginRefusal(`${path} is not a directory`)
}

function pluginEnvironment(program: string, operation: string): Readonly<Record<string, string>> {
  return { DHV_OPERATION: operation, DHV_PLUGIN_DIR: dirname(program) }
}

function volumeEnvironment(
  { path: program, volumesDir, nodeId }: ProgramPluginOptions,
  volume: VolumeOnNode,
  operation: 'create' | 'delete',
): Readonly<Record<string, string>> {
  return {
    ...pluginEnvironment(program, operation),
    DHV_VOLUMES_DIR: volumesDir,
    DHV_NAMESPACE: volume.namespace,
    DHV_VOLUME_NAME: volume.name,
    DHV_VOLUME_ID: volume.id,
    DHV_NODE_ID: nodeId(),
    DHV_NODE_POOL: volume.nodePool,
    DHV_PARAMETERS: JSON.stringify(volume.parameters),
    ...(operation === 'create'
      ? {
          DHV_CAPACITY_MIN_BYTES: String(volume.capacityMinBytes),
          DHV_CAPACITY_MAX_BYTES: String(volume.capacityMaxBytes),
        }
      : { DHV_CREATED_PATH: volume.path }),
  }
}

async function runPluginProgram(
  program: string,
  operation: string,
  env: Readonly<Record<string, string>>,
  { timeoutMs = LIMITS.volumePluginTimeoutMs }: { readonly timeoutMs?: number } = {},
): Promise<string> {
  const { failure, stdout, stderr } = await runProgram(program, [operation], { env, timeoutMs })
  if (failure === undefined) return stdout
  const reason = stderr === '' ? failure : `${failure}: ${stderr}`
  throw volumePluginRefusal(`plugin operation "${operation}" failed: ${reason}`)
}

function parseJsonObject(output: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    throw volumePluginRefusal('the plugin did not print JSON on its standard output')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw volumePluginRefusal('the plugin must print a JSON object on its standard output')
  return { ...value }
}

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
