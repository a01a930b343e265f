import type { Invocation } from '../command.ts'
import { CommandFailure } from '../failure.ts'
import { fileBytes } from '../input.ts'

/** Descriptions, rules and variables are small; the servers take no more anyway. */
const FILE_BYTES_MAX = 4 * 1024 * 1024

/** The text of a file; `-` is standard input. */
export async function fileText(invocation: Invocation, path: string): Promise<string> {
  const name = path === '-' ? 'standard input' : `"${path}"`
  return decoded(name, await fileBytes(invocation, path, { bytesMax: FILE_BYTES_MAX }))
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
