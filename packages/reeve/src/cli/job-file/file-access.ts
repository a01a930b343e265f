import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { FileFunctions } from '../../jobspec/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { CliHost } from '../host.ts'

/** Whatever a job file reads goes into the job, which may not be larger. */
const FILE_BYTES_MAX = 16 * 1024 * 1024
const FILES_MAX = 10_000

/** The files of this machine for `file()` and its like; relative ones are beside the job file. */
export function fileAccess(
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

class Unfit extends Error {}

function attempt<T>(look: () => T): Result<T, string> {
  try {
    return ok(look())
  } catch (thrown) {
    // Of `ENOENT: no such file or directory, open '…'` the code says nothing to a person.
    return err(
      errorMessage(thrown)
        .replace(/^[A-Z]+: /, '')
        .replace(/, \w+ '/, " '"),
    )
  }
}

/** What grows while it is read, such as a device, is not read to an end that never comes. */
function readBounded(path: string): Uint8Array {
  if (!statSync(path).isFile()) throw new Unfit(`${path} is not a regular file`)
  const descriptor = openSync(path, 'r')
  try {
    const bytes = new Uint8Array(FILE_BYTES_MAX + 1)
    let length = 0
    for (;;) {
      const count = readSync(descriptor, bytes, length, bytes.length - length, null)
      length += count
      if (length > FILE_BYTES_MAX) throw new Unfit(`${path} has more than ${FILE_BYTES_MAX} bytes`)
      if (count === 0) return bytes.slice(0, length)
    }
  } finally {
    closeSync(descriptor)
  }
}

function isFile(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return false
  if (!found.isFile()) throw new Unfit(`${path} is not a regular file`)
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
        throw new Unfit(`there are more than ${FILES_MAX} files in ${root}`)
    }
  }
  walk('', 0)
  return found
}
