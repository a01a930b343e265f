import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { AGENT_LIMITS } from '../../limits.ts'
import { Semaphore } from '../../wait.ts'
import { runProgram } from '../../run-program.ts'
import { isExecutable } from './network-files.ts'

/** Names of attributes, which constraints use. */
const PLUGIN_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/** Attribute `plugins.cni.version.NAME` for each plug-in that reports its version. */
export async function readPluginVersions(
  directories: readonly string[],
): Promise<Readonly<Record<string, string>>> {
  const semaphore = new Semaphore(AGENT_LIMITS.cniVersionsInFlightMax)
  const paths = (await listPlugins(directories)).slice(0, AGENT_LIMITS.cniVersionPluginsMax)
  const versions = await Promise.all(
    paths.map(
      async ([name, path]) => [name, await semaphore.run(() => readPluginVersion(path))] as const,
    ),
  )
  return Object.fromEntries(
    versions.flatMap(([name, version]) =>
      version === undefined ? [] : [[`plugins.cni.version.${name}`, version]],
    ),
  )
}

/** Plug-ins by name; the first directory takes precedence. */
async function listPlugins(
  directories: readonly string[],
): Promise<readonly (readonly [string, string])[]> {
  const paths = new Map<string, string>()
  for (const directory of directories) {
    // Most nodes have no plug-ins, and a directory that cannot be read offers none.
    const names = await readdir(directory).catch((): string[] => [])
    for (const name of names.toSorted())
      if (PLUGIN_NAME.test(name) && !paths.has(name)) paths.set(name, join(directory, name))
  }
  return [...paths]
}

async function readPluginVersion(path: string): Promise<string | undefined> {
  if (!(await isExecutable(path))) return undefined
  const timeoutMs = AGENT_LIMITS.cniVersionTimeoutMs
  const { failure, stdout, stderr } = await runProgram(path, ['--version'], { timeoutMs })
  // Plug-ins usually print the version to standard error, complaining that no runtime called them.
  return failure === undefined ? parsePluginVersion(stdout.trim() || stderr) : undefined
}

/** `CNI bridge plugin v1.5.1` is 1.5.1. Builds of some distributions do not know their version. */
export function parsePluginVersion(text: string): string {
  const firstLine = text.split('\n', 1)[0] ?? ''
  return /(?:^|\s)v?(\d{1,6}(?:\.\d{1,6}){1,3}[\w.+-]{0,64})/.exec(firstLine)?.[1] ?? 'unknown'
}
