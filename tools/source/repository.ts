import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The files of a checkout. The tools see only this, so that their tests need no disk. */
export interface Repository {
  /** Every file, relative to the root with `/`, by code unit. */
  readonly files: readonly string[]
  /** True for a file and for a folder that holds one. */
  has(path: string): boolean
  isFile(path: string): boolean
  /** The text of a listed file. */
  read(path: string): string
}

const IGNORED_FOLDERS = new Set(['node_modules', '.git', '.reeve', 'coverage', 'dist'])

export function openRepository(root: string): Repository {
  const files: string[] = []
  const collect = (folder: string) => {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isFile()) files.push(path)
      else if (entry.isDirectory() && !IGNORED_FOLDERS.has(entry.name)) collect(path)
    }
  }
  collect('')
  return repositoryOf(files, (path) => readText(join(root, path)))
}

/** Empty if the file was removed since it was listed, for example by an editor. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

function repositoryOf(paths: readonly string[], read: (path: string) => string): Repository {
  const files = paths.toSorted()
  const known = new Set(files)
  const folders = new Set(files.flatMap(foldersOf))
  return {
    files,
    has: (path) => known.has(path) || folders.has(path),
    isFile: (path) => known.has(path),
    read,
  }
}

/** The folders around a file, the root as ''. */
function foldersOf(path: string): string[] {
  const parts = path.split('/')
  return parts.map((_, index) => parts.slice(0, index).join('/'))
}

/** An in-memory repository, for tests of the tools. */
export function createMemoryRepository(files: Readonly<Record<string, string>>): Repository {
  return repositoryOf(Object.keys(files), (path) => files[path] ?? '')
}

// The purpose of a file according to its path.

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path)
}

/** Code that only tests, benchmarks, fuzzing or the simulation run. */
export function isTestSupport(path: string): boolean {
  return /^packages\/[^/]+\/(?:test|bench|fuzz|sim)\//.test(path)
}

/** Configuration of a tool, such as that of the web build. */
export function isConfig(path: string): boolean {
  return /\.config\.(?:mjs|ts)$/.test(path)
}
