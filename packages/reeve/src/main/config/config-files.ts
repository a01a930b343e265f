import { join } from 'node:path'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { ConfigProblem } from './problem.ts'
import type { ConfigFile } from './read-settings.ts'

/** What is needed of a file system; all paths as the user wrote them. */
export interface ConfigFileSystem {
  isDirectory(path: string): Promise<boolean>
  /** Names in a directory, in any order. */
  list(path: string): Promise<readonly string[]>
  /** At most `bytesMax` bytes from the start. */
  read(path: string, bytesMax: number): Promise<Uint8Array>
}

/** Configurations are a few kilobytes; a file that never ends must not fill the memory. */
const FILE_BYTES_MAX = 1024 * 1024
const DIRECTORY_FILES_MAX = 256

export interface FoundFiles {
  readonly files: readonly ConfigFile[]
  readonly problems: readonly ConfigProblem[]
}

/** The files, and of directories the `*.hcl` and `*.json` in the order of their names. */
export async function findConfigFiles(
  paths: readonly string[],
  fileSystem: ConfigFileSystem,
): Promise<FoundFiles> {
  const files: ConfigFile[] = []
  const problems: ConfigProblem[] = []
  const refuse = (path: string, message: string): void => {
    problems.push({ origin: { kind: 'path', path }, message })
  }
  for (const given of paths) {
    for (const path of await expand(given, fileSystem, refuse)) {
      const text = await readText(path, fileSystem, refuse)
      if (text !== undefined) files.push({ path, text })
    }
  }
  return { files, problems }
}

type Refuse = (path: string, message: string) => void

async function expand(
  path: string,
  fileSystem: ConfigFileSystem,
  refuse: Refuse,
): Promise<readonly string[]> {
  try {
    if (!(await fileSystem.isDirectory(path))) return [path]
    const names = (await fileSystem.list(path)).filter(isConfigName).toSorted(byCodeUnit)
    if (names.length > DIRECTORY_FILES_MAX) {
      refuse(path, `It holds ${names.length} files; at most ${DIRECTORY_FILES_MAX} are read.`)
      return []
    }
    return names.map((name) => join(path, name))
  } catch (thrown) {
    refuse(path, explain(thrown))
    return []
  }
}

/** Editors leave hidden copies of what they edit; those are not meant. */
function isConfigName(name: string): boolean {
  return /^[^.].*\.(?:hcl|json)$/.test(name)
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

async function readText(
  path: string,
  fileSystem: ConfigFileSystem,
  refuse: Refuse,
): Promise<string | undefined> {
  let bytes: Uint8Array
  try {
    bytes = await fileSystem.read(path, FILE_BYTES_MAX + 1)
  } catch (thrown) {
    refuse(path, explain(thrown))
    return undefined
  }
  if (bytes.length > FILE_BYTES_MAX) {
    refuse(path, `It is longer than ${FILE_BYTES_MAX} bytes, so it cannot be a configuration.`)
    return undefined
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // The decoder throws for one reason only.
    refuse(path, 'It is not UTF-8 text.')
    return undefined
  }
}

const sentences: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file or directory.',
  EACCES: 'It may not be read by the account that runs this program.',
  ENOTDIR: 'There is no such file or directory.',
  ELOOP: 'Its symbolic links lead in a circle.',
  ENAMETOOLONG: 'The path is too long.',
}

function explain(thrown: unknown): string {
  const code: unknown = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  const known = typeof code === 'string' ? sentences[code] : undefined
  return known ?? `It cannot be read: ${errorMessage(thrown)}.`
}
