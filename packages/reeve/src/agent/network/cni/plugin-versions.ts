import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AGENT_LIMITS } from '../../limits.ts'
import { Slots } from '../../wait.ts'
import { runProgram } from '../../run-program.ts'
import { isExecutable } from './network-files.ts'

/** Names of attributes, which constraints use. */
const ATTRIBUTE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/**
 * An attribute `plugins.cni.version.NAME` for each plug-in of the directories. A plug-in that is
 * asked for its version and does not answer has none.
 */
export async function pluginVersions(
  directories: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const slots = new Slots(AGENT_LIMITS.cniVersionsInFlightMax)
  const paths = (await listPlugins(directories)).slice(0, AGENT_LIMITS.cniVersionsMax)
  const found = await Promise.all(
    paths.map(async ([name, path]) => [name, await slots.run(() => versionOf(path))] as const),
  )
  return Object.fromEntries(
    found.flatMap(([name, version]) =>
      version === undefined ? [] : [[`plugins.cni.version.${name}`, version]],
    ),
  )
}

/** By name; of plug-ins of one name, the first directory's is the one that is run. */
async function listPlugins(
  directories: readonly string[],
): Promise<readonly (readonly [string, string])[]> {
  const paths = new Map<string, string>()
  for (const directory of directories) {
    // Most nodes have no plug-ins, and a directory that cannot be read offers none.
    const names = await readdir(directory).catch((): string[] => [])
    for (const name of names.toSorted())
      if (ATTRIBUTE_NAME.test(name) && !paths.has(name)) paths.set(name, join(directory, name))
  }
  return [...paths]
}

async function versionOf(path: string): Promise<string | undefined> {
  if (!(await isExecutable(path))) return undefined
  const msMax = AGENT_LIMITS.cniVersionMsMax
  const { failure, output, complaint } = await runProgram(path, ['--version'], { msMax })
  // The usual plug-ins print it as a complaint that they were not called by a runtime.
  return failure === undefined ? parsePluginVersion(output.trim() || complaint) : undefined
}

/** `CNI bridge plugin v1.5.1` is 1.5.1. Builds of some distributions do not know their version. */
export function parsePluginVersion(text: string): string {
  const firstLine = text.split('\n', 1)[0] ?? ''
  return /(?:^|\s)v?(\d{1,6}(?:\.\d{1,6}){1,3}[\w.+-]{0,64})/.exec(firstLine)?.[1] ?? 'unknown'
}
