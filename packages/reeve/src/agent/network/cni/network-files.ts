import { constants } from 'node:fs'
import { access, readdir, readFile, stat } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { AGENT_LIMITS } from '../../limits.ts'
import { isMissing } from '../../store/state-file.ts'
import { parseNetworkConfig, type NetworkConfig } from './network-config.ts'

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
