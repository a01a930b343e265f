import { CommandError } from '../failure.ts'
import type { InputStream } from '../host.ts'

const CTRL_C = '\u0003'
const CTRL_D = '\u0004'
const BACKSPACES = new Set(['\u007f', '\b'])

/** Reads a line without echo. */
export async function readSecret(input: InputStream, signal: AbortSignal): Promise<string> {
  input.setRawMode?.(true)
  const decoder = new TextDecoder()
  let line = ''
  try {
    for await (const part of input) {
      const text = typeof part === 'string' ? part : decoder.decode(part, { stream: true })
      for (const key of text) {
        if (key === CTRL_C || signal.aborted) throw new CommandError('Nothing was saved.')
        if (key === '\r' || key === '\n' || key === CTRL_D) return line
        line = BACKSPACES.has(key) ? line.slice(0, -1) : line + key
      }
    }
    return line
  } finally {
    input.setRawMode?.(false)
  }
}
