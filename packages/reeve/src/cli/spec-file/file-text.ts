import type { CommandContext } from '../command.ts'
import { CommandError } from '../failure.ts'
import { readFileOrStdin } from '../input.ts'

/** Maximum file size; servers reject larger definitions. */
const FILE_BYTES_MAX = 4 * 1024 * 1024

/** Reads a text file, or standard input for `-`. */
export async function readTextFile(invocation: CommandContext, path: string): Promise<string> {
  const name = path === '-' ? 'standard input' : `"${path}"`
  return decodeUtf8(name, await readFileOrStdin(invocation, path, { bytesMax: FILE_BYTES_MAX }))
}

function decodeUtf8(name: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (thrown) {
    if (!(thrown instanceof TypeError)) throw thrown
    throw new CommandError(`${name} is not text in UTF-8.`)
  }
}

/** Whether an argument is a file name rather than an object name. */
export function isFileName(given: string): boolean {
  return given === '-' || /\.(hcl|json)$/.test(given)
}
