import type { Invocation } from './command.ts'
import { CommandFailure } from './failure.ts'

/** All of standard input, up to a limit. */
export async function inputBytes(
  { host, signal }: Invocation,
  bytesMax: number,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let length = 0
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
