import { constants } from 'node:fs'
import { access, readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { AGENT_LIMITS } from '../../limits.ts'
import { isMissing } from '../../store/state-file.ts'

/** The prefix of the modes that plug-ins serve. */
export const CNI_MODE_PREFIX = 'cni/'

/** Versions of the specification whose results list `ips`, and whose plug-ins can be chained. */
const SPEC_VERSIONS = ['0.3.0', '0.3.1', '0.4.0', '1.0.0', '1.1.0']

/** Letters that the specification allows for names of networks, and that file names may have. */
const NETWORK_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/

/** The settings of one plug-in. It has others, which only the plug-in knows. */
export const PluginConfig = Type.Object({
  type: Type.String(),
  capabilities: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  ipam: Type.Optional(Type.Unknown()),
})
export type PluginConfig = Static<typeof PluginConfig>

/** A network: its plug-ins, in the order of ADD. */
export const NetworkConfig = Type.Object({
  name: Type.String(),
  cniVersion: Type.String(),
  plugins: Type.Array(PluginConfig),
})
export type NetworkConfig = Static<typeof NetworkConfig>

const pluginChecker = Compile(PluginConfig)
const objectChecker = Compile(Type.Record(Type.String(), Type.Unknown()))
const delegateChecker = Compile(Type.Object({ type: Type.String() }))

/**
 * The network that the text of a configuration file describes: a list of plug-ins (`*.conflist`) or
 * a single one. An error is the rest of a sentence that begins with the name of the file.
 */
export function parseNetworkConfig(text: string): Result<NetworkConfig, string> {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (thrown) {
    return err(`is not valid JSON: ${errorMessage(thrown)}`)
  }
  if (!objectChecker.Check(parsed)) return err('is not a JSON object')
  const { name, cniVersion } = parsed
  if (typeof name !== 'string' || !NETWORK_NAME.test(name)) {
    return err('needs a "name" of at most 128 letters, digits, "_", "." and "-"')
  }
  if (typeof cniVersion !== 'string' || !SPEC_VERSIONS.includes(cniVersion)) {
    return err(`needs a "cniVersion" of ${SPEC_VERSIONS.join(', ')}`)
  }
  const plugins = parsePlugins(parsed)
  return plugins.ok ? ok({ name, cniVersion, plugins: plugins.value }) : plugins
}

function parsePlugins(parsed: Readonly<Record<string, unknown>>): Result<PluginConfig[], string> {
  const rawPlugins: unknown = parsed['plugins'] ?? [parsed]
  const max = AGENT_LIMITS.cniPluginsMax
  if (!Array.isArray(rawPlugins) || rawPlugins.length === 0 || rawPlugins.length > max) {
    return err(`needs a list "plugins" of 1 to ${max} plug-ins`)
  }
  const plugins: PluginConfig[] = []
  for (const plugin of rawPlugins) {
    if (!pluginChecker.Check(plugin) || !NETWORK_NAME.test(plugin.type)) {
      return err('needs a "type" for each plug-in, the file name of its program')
    }
    plugins.push(plugin)
  }
  return ok(plugins)
}

/** The programs that the network needs: its plug-ins, and those that assign addresses for them. */
export function requiredPrograms({ plugins }: NetworkConfig): readonly string[] {
  const types = plugins.flatMap(({ type, ipam }) => {
    return delegateChecker.Check(ipam) && ipam.type !== '' ? [type, ipam.type] : [type]
  })
  return [...new Set(types)]
}

/** The name that the network has in a mode `cni/NAME`; undefined for any other mode. */
export function networkNameOf(mode: string): string | undefined {
  return mode.startsWith(CNI_MODE_PREFIX) ? mode.slice(CNI_MODE_PREFIX.length) : undefined
}

/** A list of plug-ins comes before single plug-ins of the same name. */
const CONFIG_FILE_EXTENSIONS = ['.conflist', '.conf', '.json']

interface NetworkFile {
  readonly path: string
  /** Parsed network, or an error that names the file. */
  readonly network: Result<NetworkConfig, string>
}

/** The configuration files of a directory, in order; a directory that is missing has none. */
export async function readNetworkFiles(directory: string): Promise<readonly NetworkFile[]> {
  const names = (await listDirectory(directory)).filter((name) =>
    CONFIG_FILE_EXTENSIONS.includes(extname(name)),
  )
  const sorted = CONFIG_FILE_EXTENSIONS.flatMap((extension) =>
    names.filter((name) => extname(name) === extension).toSorted(),
  )
  const pathsByNetwork = new Map<string, string>()
  const files: NetworkFile[] = []
  for (const [index, name] of sorted.entries()) {
    const path = join(directory, name)
    const config = await readNetworkFile(path, index)
    const earlierPath = config.ok ? pathsByNetwork.get(config.value.name) : undefined
    if (earlierPath !== undefined) {
      files.push({ path, network: err(`${path} describes the same network as ${earlierPath}`) })
      continue
    }
    if (config.ok) pathsByNetwork.set(config.value.name, path)
    files.push({ path, network: config.ok ? config : err(`${path} ${config.error}`) })
  }
  return files
}

async function listDirectory(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory)
  } catch (thrown) {
    if (isMissing(thrown)) return []
    throw thrown
  }
}

async function readNetworkFile(
  path: string,
  index: number,
): Promise<Result<NetworkConfig, string>> {
  const { cniConfigFilesMax: filesMax, cniConfigBytesMax: bytesMax } = AGENT_LIMITS
  if (index >= filesMax) return err(`is not read: the directory has more than ${filesMax} files`)
  try {
    const stats = await stat(path)
    if (!stats.isFile()) return err('is not a file')
    if (stats.size > bytesMax) return err(`is larger than ${bytesMax / 1024} KiB`)
    return parseNetworkConfig(await readFile(path, 'utf8'))
  } catch (thrown) {
    return err(`cannot be read: ${errorMessage(thrown)}`)
  }
}

/** The first executable of the name in the directories. */
export async function findPluginProgram(
  name: string,
  directories: readonly string[],
): Promise<Result<string, string>> {
  for (const directory of directories) {
    const path = join(directory, name)
    if (await isExecutable(path)) return ok(path)
  }
  return err(
    `the plug-in ${JSON.stringify(name)} is in no directory of client.cni_path on this node`,
  )
}

export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK)
    return (await stat(path)).isFile()
  } catch {
    return false
  }
}
