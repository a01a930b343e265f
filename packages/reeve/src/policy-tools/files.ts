import { open, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { fileProblem, type ToolDiagnostic } from './report.ts'

/** A file that was read. */
export interface TextFile {
  readonly file: string
  readonly text: string
}

export async function readText(path: string): Promise<Result<string, ToolDiagnostic>> {
  try {
    const file = await open(path)
    try {
      const { size } = await file.stat()
      if (size > FILE_BYTES_MAX)
        return err(fileProblem(path, `It is longer than ${FILE_BYTES_MAX} bytes.`))
      const bytes = await file.readFile()
      return ok(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
    } finally {
      await file.close()
    }
  } catch (thrown) {
    return err(fileProblem(path, readErrorMessage(thrown)))
  }
}

export async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false
}

/** Returns the names in a directory, sorted; none if the directory does not exist. */
export async function listDirectory(path: string): Promise<readonly string[]> {
  const names = await readdir(path).catch(() => [])
  return names.filter((name) => !name.startsWith('.')).toSorted(byCodeUnit)
}

/** Returns the files below a directory with this suffix, sorted by path. */
export async function findFiles(path: string, suffix: string): Promise<readonly string[]> {
  const found: string[] = []
  await collectFiles(path, { suffix, depth: 0, found })
  return found
}

interface FileSearch {
  readonly suffix: string
  readonly depth: number
  readonly found: string[]
}

async function collectFiles(path: string, { suffix, depth, found }: FileSearch): Promise<void> {
  if (depth > FOLDER_DEPTH_MAX) return
  for (const name of await listDirectory(path)) {
    const child = join(path, name)
    if (found.length >= FILES_MAX) return
    if (await isDirectory(child)) await collectFiles(child, { suffix, depth: depth + 1, found })
    else if (name.endsWith(suffix)) found.push(child)
  }
}

function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function readErrorMessage(thrown: unknown): string {
  const code: unknown = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined
  if (code === 'ENOENT' || code === 'ENOTDIR') return 'There is no such file.'
  if (code === 'EISDIR') return 'It is a directory.'
  if (code === 'EACCES') return 'It may not be read by the account that runs this program.'
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'It is not UTF-8 text.'
  return `It cannot be read: ${errorMessage(thrown)}.`
}

/** The step limit of the server, so that a policy that passes its tests has enough steps there. */
export { POLICY_STEPS_MAX as STEPS_MAX } from '../policy/index.ts'

/** Maximum size of a policy, module, mock or document. */
const FILE_BYTES_MAX = 64 * 1024 * 1024

/** Maximum number of files that one command reads from directories. */
const FILES_MAX = 10_000

/** Maximum depth of the search for `*.rego` files. */
const FOLDER_DEPTH_MAX = 16

/** Maximum length of a printed value. */
export const SHOWN_MAX = 2_000
