import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'
import type { Invocation } from './command.ts'
import { CommandFailure } from './failure.ts'
import { reasonOf } from './reason.ts'

/** All of standard input, up to a limit. */
export async function inputBytes(
  { host, signal }: Invocation,
  bytesMax: number,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
  // Somebody who forgot to type anything leaves with one Ctrl-C.
  signal.addEventListener('abort', () => host.input.destroy?.(), { once: true })
  for await (const part of host.input) {
    signal.throwIfAborted()
    const bytes = typeof part === 'string' ? new TextEncoder().encode(part) : part
    parts.push(bytes)
    length += bytes.length
    if (length > bytesMax)
      throw new CommandFailure(`Standard input is longer than ${bytesMax} bytes.`)
  }
  const all = new Uint8Array(length)
  let at = 0
  for (const bytes of parts) {
    all.set(bytes, at)
    at += bytes.length
  }
  return all
}

export interface FileRule {
  readonly bytesMax: number
  /** What is said of a file that cannot be read. */
  readonly unreadable?: (thrown: unknown) => CommandFailure
  /** What is said of one that is longer; standard input says so itself. */
  readonly tooLong?: (bytes: number) => CommandFailure
}

/** A file, or standard input for "-"; up to a limit. */
export async function fileBytes(
  invocation: Invocation,
  path: string,
  rule: FileRule,
): Promise<Uint8Array> {
  const { bytesMax, unreadable = unreadableFile(path), tooLong = longFile(path, bytesMax) } = rule
  if (path === '-') return await inputBytes(invocation, bytesMax)
  const absolute = resolve(invocation.host.directory, path)
  try {
    // A device or a pipe does not say how long it is: no more is read than may be.
    const bytes = await buffer(createReadStream(absolute, { end: bytesMax }))
    if (bytes.length <= bytesMax) return bytes
  } catch (thrown) {
    throw unreadable(thrown)
  }
  throw tooLong((await stat(absolute)).size)
}

function unreadableFile(path: string): (thrown: unknown) => CommandFailure {
  return (thrown) =>
    new CommandFailure(`"${path}" cannot be read: ${reasonOf(thrown)}.`, {
      hint: 'Name a file that is there, or "-" for standard input.',
    })
}

function longFile(path: string, bytesMax: number): () => CommandFailure {
  return () => new CommandFailure(`"${path}" is longer than ${bytesMax} bytes.`)
}

/** The object that such a file holds as JSON. */
export async function fileJson(
  invocation: Invocation,
  path: string,
  bytesMax: number,
): Promise<Readonly<Record<string, unknown>>> {
  const text = new TextDecoder().decode(await fileBytes(invocation, path, { bytesMax }))
  try {
    const read: unknown = JSON.parse(text)
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return { ...read }
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown)
    throw new CommandFailure(`"${path}" is no JSON: ${reason}`)
  }
  throw new CommandFailure(`"${path}" holds no JSON object.`)
}
