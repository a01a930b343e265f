import { execFile } from 'node:child_process'
import { access, constants, readdir, realpath } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { toolAttribute, toolPathAttribute, TOOLS, VERSION_FIELD } from '../infrastructure/index.ts'

const VERSION_MS_MAX = 20_000

type Attributes = Readonly<Record<string, string>>

/** Found once: the tools are started to ask them. */
let found: Promise<Attributes> | undefined

/** Attributes of the node: the tools that it has, and how this program is started on it. */
export function infrastructureAttributes(): Promise<Attributes> {
  return (found ??= findAttributes())
}

async function findAttributes(): Promise<Attributes> {
  const tools = await Promise.all(TOOLS.map(toolAttributes))
  return {
    'infrastructure.runtime': process.execPath,
    'infrastructure.program': resolve(process.argv[1] ?? ''),
    ...Object.assign({}, ...tools),
  }
}

async function toolAttributes(tool: string): Promise<Attributes> {
  const paths = await findPrograms(tool)
  const installed = await Promise.all(
    paths.map(async (path) => ({ path, version: await versionOf(path) })),
  )
  const attributes: Record<string, string> = {}
  for (const { path, version } of installed) {
    if (version === undefined) continue
    // The first on the path is the default of the node, and wins over a copy of its version.
    attributes[toolAttribute(tool)] ??= version
    attributes[`infrastructure.${tool}.path`] ??= path
    attributes[toolPathAttribute(tool, version)] ??= path
  }
  return attributes
}

/** Each of them is started once to read its version. */
const PROGRAMS_MAX = 16

/**
 * Returns the programs on the path with this name, and then those with a version after it, such as
 * `tool-1.11.4` or `tool_1.11.4`.
 */
async function findPrograms(tool: string): Promise<readonly string[]> {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((path) => path !== '')
  const names = await Promise.all(directories.map((directory) => namesIn(directory)))
  const pathsWhere = (isWanted: (name: string) => boolean): readonly string[] =>
    directories.flatMap((directory, at) =>
      (names[at] ?? []).filter(isWanted).map((name) => join(directory, name)),
    )
  const programs = new Set<string>()
  const plain = pathsWhere((name) => name === tool)
  for (const path of [...plain, ...pathsWhere((name) => isVersioned(name, tool))]) {
    if (programs.size >= PROGRAMS_MAX) break
    if (await isProgram(path)) programs.add(await realpath(path))
  }
  return [...programs]
}

/** Directories of the path may be missing or unreadable. */
async function namesIn(directory: string): Promise<readonly string[]> {
  const names = await readdir(directory).catch(() => [])
  return names.toSorted(compareText)
}

function isVersioned(name: string, tool: string): boolean {
  return name.startsWith(tool) && /^[-_]v?\d+\.\d/.test(name.slice(tool.length))
}

async function isProgram(path: string): Promise<boolean> {
  return await access(path, constants.X_OK).then(
    () => true,
    () => false,
  )
}

const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?$/

/** Undefined where the program does not say: it is another one of this name. */
async function versionOf(path: string): Promise<string | undefined> {
  try {
    const environment = { PATH: process.env['PATH'] ?? '', CHECKPOINT_DISABLE: '1' }
    const asked = promisify(execFile)(path, ['version', '-json'], {
      timeout: VERSION_MS_MAX,
      env: environment,
    })
    const said: { [field: string]: unknown } = JSON.parse((await asked).stdout)
    const version = said[VERSION_FIELD]
    return typeof version === 'string' && VERSION.test(version) ? version : undefined
  } catch {
    return undefined
  }
}
