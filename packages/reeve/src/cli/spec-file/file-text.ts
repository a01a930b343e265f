import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { messageOf } from '../../kit/fault.ts'
import type { Invocation } from '../command.ts'
import { CommandFailure } from '../failure.ts'
import { inputBytes } from '../input.ts'

/** Descriptions, rules and variables are small; the servers take no more anyway. */
const FILE_BYTES_MAX = 4 * 1024 * 1024

/** The text of a file; `-` is standard input. */
export async function fileText(invocation: Invocation, path: string): Promise<string> {
  if (path === '-') return decoded('standard input', await inputBytes(invocation, FILE_BYTES_MAX))
  const absolute = resolve(invocation.host.directory, path)
  try {
    const { size } = await stat(absolute)
    if (size > FILE_BYTES_MAX) {
      throw new CommandFailure(`${path} is longer than ${FILE_BYTES_MAX} bytes.`)
    }
    return decoded(path, await readFile(absolute))
  } catch (thrown) {
    if (thrown instanceof CommandFailure) throw thrown
    throw new CommandFailure(`${path} cannot be read: ${reasonOf(thrown)}.`, {
      hint: 'Name a file, or "-" for standard input.',
    })
  }
}

/** Of `ENOENT: no such file or directory, open '…'` only the sentence. */
function reasonOf(thrown: unknown): string {
  return messageOf(thrown)
    .replace(/^[A-Z]+: /, '')
    .replace(/, \w+( '.*)?$/, '')
}

function decoded(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown
    throw new CommandFailure(`${name} is not text in UTF-8.`)
  }
}

/** Whether an argument names a file, where it could also be the name of something. */
export function isFileName(given: string): boolean {
  return given === '-' || /\.(hcl|json)$/.test(given)
}
