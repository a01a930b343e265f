import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { FileFunctions } from '../../jobspec/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { CliHost } from '../host.ts'

/** Maximum size of a file that a job file reads: its content becomes part of the job. */
const FILE_BYTES_MAX = 16 * 1024 * 1024
const FILES_MAX = 10_000

/**
 * Creates the local file functions of job files, such as `file()`. Relative paths start at the job
 * file.
 */
export function createFileFunctions(
  directory: string,
  { environment }: Pick<CliHost, 'environment'>,
): FileFunctions {
  const absolute = (path: string): string => resolve(directory, path)
  return {
    absolute,
    home: () => environment['HOME'],
    read: (path) => attempt(() => readBounded(absolute(path))),
    exists: (path) => attempt(() => isFile(absolute(path))),
    list: (path, depthMax) => attempt(() => listFiles(absolute(path), depthMax)),
  }
}

class UnsuitableFile extends Error {}

function attempt<T>(operation: () => T): Result<T, string> {
  try {
    return ok(operation())
  } catch (thrown) {
    // Removes the code and the path of system errors such as `ENOENT: no such file or directory,
    // open '…'`.
    return err(
      errorMessage(thrown)
        .replace(/^[A-Z]+: /, '')
        .replace(/, \w+ '/, " '"),
    )
  }
}

/**
 * Reads a regular file up to the limit. The limit is checked while reading, because the file may
 * grow.
 */
function readBounded(path: string): Uint8Array {
  if (!statSync(path).isFile()) throw new UnsuitableFile(`${path} is not a regular file`)
  const descriptor = openSync(path, 'r')
  try {
    const bytes = new Uint8Array(FILE_BYTES_MAX + 1)
    let length = 0
    for (;;) {
      const count = readSync(descriptor, bytes, length, bytes.length - length, null)
      length += count
      if (length > FILE_BYTES_MAX)
        throw new UnsuitableFile(`${path} has more than ${FILE_BYTES_MAX} bytes`)
      if (count === 0) return bytes.slice(0, length)
    }
  } finally {
    closeSync(descriptor)
  }
}

function isFile(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return false
  if (!found.isFile()) throw new UnsuitableFile(`${path} is not a regular file`)
  return true
}

function listFiles(root: string, depthMax: number): readonly string[] {
  const found: string[] = []
  const walk = (below: string, depth: number): void => {
    for (const entry of readdirSync(join(root, below), { withFileTypes: true })) {
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      if (entry.isFile()) found.push(path)
      else if (entry.isDirectory() && depth < depthMax) walk(path, depth + 1)
      if (found.length > FILES_MAX)
        throw new UnsuitableFile(`there are more than ${FILES_MAX} files in ${root}`)
    }
  }
  walk('', 0)
  return found
}
