import { execFile } from 'node:child_process'
import { access, constants, readdir, realpath } from 'node:fs/promises'
import { delimiter, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { toolAttribute, toolPathAttribute, TOOLS, VERSION_FIELD } from '../infrastructure/index.ts'

const VERSION_TIMEOUT_MS = 20_000

type Attributes = Readonly<Record<string, string>>

/** Cached, because detection starts each tool. */
let cachedAttributes: Promise<Attributes> | undefined

/** Node attributes for the installed tools and for how this program is started. */
export function infrastructureAttributes(): Promise<Attributes> {
  return (cachedAttributes ??= findAttributes())
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
    paths.map(async (path) => ({ path, version: await readToolVersion(path) })),
  )
  const attributes: Record<string, string> = {}
  for (const { path, version } of installed) {
    if (version === undefined) continue
    // The first program in the PATH is the node's default and takes precedence over a copy of the
    // same version.
    attributes[toolAttribute(tool)] ??= version
    attributes[`infrastructure.${tool}.path`] ??= path
    attributes[toolPathAttribute(tool, version)] ??= path
  }
  return attributes
}

/** Each program is started once to read its version. */
const PROGRAMS_MAX = 16

/**
 * Returns the programs on the path with this name, and then those with a version after it, such as
 * `tool-1.11.4` or `tool_1.11.4`.
 */
async function findPrograms(tool: string): Promise<readonly string[]> {
  const directories = (process.env['PATH'] ?? '').split(delimiter).filter((path) => path !== '')
  const names = await Promise.all(directories.map((directory) => listNames(directory)))
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
async function listNames(directory: string): Promise<readonly string[]> {
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

/** Undefined if the output has no version: then it is a different program of the same name. */
async function readToolVersion(path: string): Promise<string | undefined> {
  try {
    const environment = { PATH: process.env['PATH'] ?? '', CHECKPOINT_DISABLE: '1' }
    const execution = promisify(execFile)(path, ['version', '-json'], {
      timeout: VERSION_TIMEOUT_MS,
      env: environment,
    })
    const output: { [field: string]: unknown } = JSON.parse((await execution).stdout)
    const version = output[VERSION_FIELD]
    return typeof version === 'string' && VERSION.test(version) ? version : undefined
  } catch {
    return undefined
  }
}
