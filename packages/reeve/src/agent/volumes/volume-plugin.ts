import { chmod, chown, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BUILT_IN_VOLUME_PLUGIN, type MadeVolume, type VolumeOnNode } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import { LIMITS } from '../../model/index.ts'
import { RemoteRefusal } from '../remote/remote-refusal.ts'
import { runProgram } from '../run-program.ts'
import { removeTree } from '../store/remove-tree.ts'
import { isMissing } from '../store/state-file.ts'

/** Makes the volumes of a node, and removes them. Both may be asked for again. */
export interface VolumePlugin {
  readonly name: string
  readonly version: string
  create(volume: VolumeOnNode): Promise<MadeVolume>
  /** Also of a volume that was never made. */
  remove(volume: VolumeOnNode): Promise<void>
}

/** The node that plugins work for. */
export interface PluginPlace {
  /** Below it plugins make what they make. */
  readonly volumesDir: string
  readonly nodeId: () => string
}

/** Returns the error for a plugin that failed or rejected an operation. */
export function pluginFailure(message: string): RemoteRefusal {
  return new RemoteRefusal(400, message, { code: 'volume-plugin-failed' })
}

/** Makes a directory. It holds no more and no less than its disk does. */
export function mkdirPlugin({ volumesDir }: PluginPlace): VolumePlugin {
  const pathOf = ({ id }: VolumeOnNode): string => join(volumesDir, id)
  return {
    name: BUILT_IN_VOLUME_PLUGIN,
    version: '1.0.0',
    async create(volume) {
      const { mode, uid, gid } = directoryRights(volume.parameters)
      const path = pathOf(volume)
      try {
        await mkdir(path, { recursive: true, mode: 0o700 })
        // What the process masks out of a new mode is not masked out of a change.
        if (mode !== undefined) await chmod(path, mode)
        if (uid !== undefined || gid !== undefined) await chown(path, uid ?? -1, gid ?? -1)
      } catch (thrown) {
        throw pluginFailure(`the directory cannot be made: ${errorMessage(thrown)}`)
      }
      return { path, bytes: 0 }
    },
    async remove(volume) {
      await removeTree(pathOf(volume))
    },
  }
}

const MODE = /^0?[0-7]{3,4}$/
const ID = /^\d{1,10}$/
const ID_MAX = 2 ** 32 - 2

function directoryRights(parameters: VolumeOnNode['parameters']) {
  const { mode, uid, gid, ...others } = parameters
  const [unknown] = Object.keys(others)
  if (unknown !== undefined)
    throw pluginFailure(
      `the plugin mkdir has no parameter ${JSON.stringify(unknown)}: it has mode, uid and gid`,
    )
  if (mode !== undefined && !MODE.test(mode))
    throw pluginFailure('parameter "mode" must be an octal number such as "0750"')
  return {
    mode: mode === undefined ? undefined : Number.parseInt(mode, 8),
    uid: idOf('uid', uid),
    gid: idOf('gid', gid),
  }
}

function idOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!ID.test(text) || Number(text) > ID_MAX)
    throw pluginFailure(`parameter "${name}" must be a whole number from 0 to ${ID_MAX}`)
  return Number(text)
}

interface ProgramPluginOptions extends PluginPlace {
  readonly name: string
  readonly path: string
  readonly version: string
}

/** A plugin that is an executable: its argument names the operation, its environment the volume. */
export function programPlugin(options: ProgramPluginOptions): VolumePlugin {
  const { name, path: program, version } = options
  return {
    name,
    version,
    async create(volume) {
      const output = await run(program, 'create', volumeEnvironment(options, volume, 'create'))
      const made = readObject(output)
      const { path, bytes } = made
      if (typeof path !== 'string' || !isVolumePath(path))
        throw pluginFailure(
          `the plugin ${name} must answer {"path": …} with an absolute path of at most ` +
            `${LIMITS.hostVolumePathCharsMax} characters`,
        )
      if (bytes !== undefined && (typeof bytes !== 'number' || !isSize(bytes)))
        throw pluginFailure(`the plugin ${name} must answer "bytes" with a whole number`)
      await requireDirectory(path)
      return { path, bytes: bytes ?? 0 }
    },
    async remove(volume) {
      await run(program, 'delete', volumeEnvironment(options, volume, 'delete'))
    },
  }
}

/** The version that a program says it has; a refusal when it is no volume plugin. */
export async function probeProgram(program: string): Promise<string> {
  const output = await run(program, 'fingerprint', pluginEnvironment(program, 'fingerprint'), {
    msMax: FINGERPRINT_MS_MAX,
  })
  const { version } = readObject(output)
  if (typeof version !== 'string' || !VERSION.test(version))
    throw pluginFailure('the answer to "fingerprint" must be {"version": "1.0.0"} or the like')
  return version
}

const FINGERPRINT_MS_MAX = 5_000
const VERSION = /^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$/

export function isVolumePath(path: string): boolean {
  const isClean = /^\/[^\p{Cc}]*$/u.test(path) && !/(^|\/)\.\.?(\/|$)/.test(path)
  return isClean && path.length <= LIMITS.hostVolumePathCharsMax
}

function isSize(bytes: number): boolean {
  return Number.isSafeInteger(bytes) && bytes >= 0
}

export async function requireDirectory(path: string): Promise<void> {
  const found = await stat(path).catch((thrown: unknown) => {
    throw pluginFailure(isMissing(thrown) ? `${path} does not exist` : errorMessage(thrown))
  })
  if (!found.isDirectory()) throw pluginFailure(`${path} is no directory`)
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

async function run(
  program: string,
  operation: string,
  env: Readonly<Record<string, string>>,
  { msMax = LIMITS.volumePluginMsMax }: { readonly msMax?: number } = {},
): Promise<string> {
  const { failure, output, complaint } = await runProgram(program, [operation], { env, msMax })
  if (failure === undefined) return output
  const why = complaint === '' ? failure : `${failure}: ${complaint}`
  throw pluginFailure(`the plugin's operation ${operation} ${why}`)
}

function readObject(output: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    throw pluginFailure('the plugin did not answer with JSON on its standard output')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw pluginFailure('the plugin must answer with a JSON object')
  return { ...value }
}
