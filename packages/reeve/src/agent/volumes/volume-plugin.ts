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
export function newProgramPlugin(options: ProgramPluginOptions): VolumePlugin {
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
export async function fingerprintPlugin(program: string): Promise<string> {
  return await runPluginProgram(program, 'fingerprint', pluginEnvironment(program, 'fingerprint'), {
    timeoutMs: FINGERPRINT_TIMEOUT_MS,
  })
}

/** Returns the version in the output of `fingerprint`; throws if it is not that of a plugin. */
export function parseFingerprint(output: string): string {
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
