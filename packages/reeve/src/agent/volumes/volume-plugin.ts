import { chmod, chown, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { BUILT_IN_VOLUME_PLUGIN, type MadeVolume, type VolumeOnNode } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import { isHostPath, LIMITS } from '../../model/index.ts'
import { RemoteRefusal } from '../remote/remote-refusal.ts'
import { runProgram } from '../run-program.ts'
import { removeTree } from '../store/remove-tree.ts'
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
export interface PluginPlace {
  /** Directory in which plugins create volumes. */
  readonly volumesDir: string
  readonly nodeId: () => string
}

/** Returns the error for a plugin that failed or rejected an operation. */
export function pluginFailure(message: string): RemoteRefusal {
  return new RemoteRefusal(400, message, { code: 'volume-plugin-failed' })
}

/** Creates a directory. Its capacity is not limited. */
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
        // Unlike mkdir, chmod ignores the umask.
        if (mode !== undefined) await chmod(path, mode)
        if (uid !== undefined || gid !== undefined) await chown(path, uid ?? -1, gid ?? -1)
      } catch (thrown) {
        throw pluginFailure(`the directory could not be created: ${errorMessage(thrown)}`)
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
      `unknown parameter ${JSON.stringify(unknown)}: plugin mkdir supports mode, uid and gid`,
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
      if (typeof path !== 'string' || !isHostPath(path))
        throw pluginFailure(
          `plugin ${name} must print {"path": …} on its standard output: the path ` +
            hostPathRule(path),
        )
      if (bytes !== undefined && (typeof bytes !== 'number' || !isSize(bytes)))
        throw pluginFailure(`plugin ${name} must print "bytes" as a whole number`)
      await requireDirectory(path)
      return { path, bytes: bytes ?? 0 }
    },
    async remove(volume) {
      await run(program, 'delete', volumeEnvironment(options, volume, 'delete'))
    },
  }
}

/** Returns the output of the operation `fingerprint`. */
export async function fingerprintProgram(program: string): Promise<string> {
  return await run(program, 'fingerprint', pluginEnvironment(program, 'fingerprint'), {
    msMax: FINGERPRINT_MS_MAX,
  })
}

/** Returns the version in the output of `fingerprint`; throws if it is not that of a plugin. */
export function versionOf(output: string): string {
  const { version } = readObject(output)
  if (typeof version !== 'string' || !VERSION.test(version))
    throw pluginFailure(
      'operation "fingerprint" must print {"version": "1.0.0"} or similar on its standard output',
    )
  return version
}

const FINGERPRINT_MS_MAX = 5_000
const VERSION = /^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$/

/** Returns the rest of the message about a path that is not valid. */
export function hostPathRule(got: unknown): string {
  const max = LIMITS.hostVolumePathCharsMax
  const shown = (JSON.stringify(got) ?? 'nothing').slice(0, max)
  return `must be an absolute path of at most ${max} characters without "." or "..": got ${shown}`
}

function isSize(bytes: number): boolean {
  return Number.isSafeInteger(bytes) && bytes >= 0
}

export async function requireDirectory(path: string): Promise<void> {
  const found = await stat(path).catch((thrown: unknown) => {
    throw pluginFailure(isMissing(thrown) ? `${path} does not exist` : errorMessage(thrown))
  })
  if (!found.isDirectory()) throw pluginFailure(`${path} is not a directory`)
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
  throw pluginFailure(`plugin operation "${operation}" failed: ${why}`)
}

function readObject(output: string): Readonly<Record<string, unknown>> {
  let value: unknown
  try {
    value = JSON.parse(output)
  } catch {
    throw pluginFailure('the plugin did not print JSON on its standard output')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw pluginFailure('the plugin must print a JSON object on its standard output')
  return { ...value }
}
