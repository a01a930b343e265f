import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { ConfigProblem } from './problem.ts'
import type { ConfigFile } from './read-config-file.ts'

/** The required file system functions. Paths are as the user wrote them. */
export interface ConfigFileSystem {
  isDirectory(path: string): Promise<boolean>
  /** Names in a directory, unordered. */
  list(path: string): Promise<readonly string[]>
  /** The first `bytesMax` bytes of a file. */
  read(path: string, bytesMax: number): Promise<Uint8Array>
}

/** Maximum file size; protects against endless files. Configurations have a few kilobytes. */
const FILE_BYTES_MAX = 1024 * 1024
const DIRECTORY_FILES_MAX = 256

export interface ConfigFiles {
  readonly files: readonly ConfigFile[]
  readonly problems: readonly ConfigProblem[]
}

/** Reads the given files, and the `*.hcl` and `*.json` files of directories in name order. */
export async function findConfigFiles(
  paths: readonly string[],
  fileSystem: ConfigFileSystem,
): Promise<ConfigFiles> {
  const files: ConfigFile[] = []
  const problems: ConfigProblem[] = []
  const refuse = (path: string, message: string): void => {
    problems.push({ origin: { kind: 'path', path }, message })
  }
  for (const given of paths) {
    for (const path of await expand(given, fileSystem, refuse)) {
      const text = await readText(path, fileSystem, refuse)
      if (text !== undefined) files.push({ path, source: text })
    }
  }
  return { files, problems }
}

type ReportProblem = (path: string, message: string) => void

async function expand(
  path: string,
  fileSystem: ConfigFileSystem,
  refuse: ReportProblem,
): Promise<readonly string[]> {
  try {
    if (!(await fileSystem.isDirectory(path))) return [path]
    const names = (await fileSystem.list(path)).filter(isConfigName).toSorted(compareText)
    if (names.length > DIRECTORY_FILES_MAX) {
      refuse(path, `It holds ${names.length} files; at most ${DIRECTORY_FILES_MAX} are read.`)
      return []
    }
    return names.map((name) => join(path, name))
  } catch (thrown) {
    refuse(path, explainFileError(thrown))
    return []
  }
}

/** Hidden files are ignored, because editors create hidden copies. */
function isConfigName(name: string): boolean {
  return /^[^.].*\.(?:hcl|json)$/.test(name)
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

async function readText(
  path: string,
  fileSystem: ConfigFileSystem,
  refuse: ReportProblem,
): Promise<string | undefined> {
  let bytes: Uint8Array
  try {
    bytes = await fileSystem.read(path, FILE_BYTES_MAX + 1)
  } catch (thrown) {
    refuse(path, explainFileError(thrown))
    return undefined
  }
  if (bytes.length > FILE_BYTES_MAX) {
    refuse(path, `It is longer than ${FILE_BYTES_MAX} bytes, so it cannot be a configuration.`)
    return undefined
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    // The decoder throws only on invalid UTF-8.
    refuse(path, 'It is not UTF-8 text.')
    return undefined
  }
}

const ERROR_SENTENCES: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file or directory.',
  EACCES: 'It may not be read by the account that runs this program.',
  ENOTDIR: 'There is no such file or directory.',
  ELOOP: 'Its symbolic links lead in a circle.',
  ENAMETOOLONG: 'The path is too long.',
}

function explainFileError(thrown: unknown): string {
  const code: unknown = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  const known = typeof code === 'string' ? ERROR_SENTENCES[code] : undefined
  return known ?? `It cannot be read: ${errorMessage(thrown)}.`
}

export const diskFiles: ConfigFileSystem = {
  isDirectory: async (path) => (await stat(path)).isDirectory(),
  list: (path) => readdir(path),
  async read(path, bytesMax) {
    const file = await open(path, 'r')
    try {
      const buffer = Buffer.alloc(bytesMax)
      let length = 0
      // A pipe (`--config <(…)`) has no size and returns its bytes in parts.
      while (length < bytesMax) {
        const { bytesRead } = await file.read(buffer, length, bytesMax - length)
        if (bytesRead === 0) break
        length += bytesRead
      }
      return buffer.subarray(0, length)
    } finally {
      await file.close()
    }
  },
}
