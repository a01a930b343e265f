import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { CommandContext } from './command.ts'
import { CommandError, systemErrorReason } from './errors.ts'

/** Reads all of standard input, up to a limit. */
export async function readStdin(
  { host, signal }: CommandContext,
  bytesMax: number,
): Promise<Uint8Array> {
  const chunks: Uint8Array[] = []
  let length = 0
  // Ctrl-C must end the read while standard input is open.
  signal.addEventListener('abort', () => host.input.destroy?.(), { once: true })
  for await (const chunk of host.input) {
    signal.throwIfAborted()
    const bytes = typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk
    chunks.push(bytes)
    length += bytes.length
    if (length > bytesMax)
      throw new CommandError(`Standard input is longer than ${bytesMax} bytes.`)
  }
  const all = new Uint8Array(length)
  let offset = 0
  for (const bytes of chunks) {
    all.set(bytes, offset)
    offset += bytes.length
  }
  return all
}

interface FileLimits {
  readonly bytesMax: number
  /** Creates the error for a file that cannot be read. */
  readonly onReadError?: (thrown: unknown) => CommandError
  /** Creates the error for a file that is too long. Standard input has its own message. */
  readonly onTooLong?: (bytes: number) => CommandError
}

/** Reads a file, or standard input for "-", up to a limit. */
export async function readFileOrStdin(
  invocation: CommandContext,
  path: string,
  rule: FileLimits,
): Promise<Uint8Array> {
  const {
    bytesMax,
    onReadError = defaultReadError(path),
    onTooLong = defaultTooLongError(path, bytesMax),
  } = rule
  if (path === '-') return await readStdin(invocation, bytesMax)
  const absolute = resolve(invocation.host.directory, path)
  try {
    // The size of devices and pipes is unknown, so that the read itself is limited.
    const bytes = await buffer(createReadStream(absolute, { end: bytesMax }))
    if (bytes.length <= bytesMax) return bytes
  } catch (thrown) {
    throw onReadError(thrown)
  }
  throw onTooLong((await stat(absolute)).size)
}

function defaultReadError(path: string): (thrown: unknown) => CommandError {
  return (thrown) =>
    new CommandError(`"${path}" cannot be read: ${systemErrorReason(thrown)}.`, {
      hint: 'Name a file that is there, or "-" for standard input.',
    })
}

function defaultTooLongError(path: string, bytesMax: number): () => CommandError {
  return () => new CommandError(`"${path}" is longer than ${bytesMax} bytes.`)
}

/** Reads a JSON object from a file, or from standard input for "-". */
export async function readJsonObject(
  invocation: CommandContext,
  path: string,
  bytesMax: number,
): Promise<Readonly<Record<string, unknown>>> {
  const text = new TextDecoder().decode(await readFileOrStdin(invocation, path, { bytesMax }))
  try {
    const read: unknown = JSON.parse(text)
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return { ...read }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new CommandError(`"${path}" is no JSON: ${reason}`)
  }
  throw new CommandError(`"${path}" holds no JSON object.`)
}

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
