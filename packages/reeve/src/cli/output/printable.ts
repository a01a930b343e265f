import type { CliHost } from '../host.ts'

/**
 * Control characters, and those that change the text direction. Names, messages and logs come from
 * other users and must not manipulate the terminal.
 */
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** The same, except line feeds, tabs and colors. */
const TERMINAL_CONTROLS =
  // eslint-disable-next-line no-control-regex -- as above
  /\r(?!\n)|\u001b(?!\[[0-9;]*m)|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Escapes all control characters as `\n`, `\x1b` or `\u202e`. */
export function escapeControlCharacters(name: string): string {
  return name.replaceAll(CONTROLS, escapeOf)
}

/** Escapes control characters, except line feeds, tabs and colors. */
export function escapeTerminalControls(text: string): string {
  return text.replaceAll(TERMINAL_CONTROLS, escapeOf)
}

const SHORT_ESCAPES: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escapeOf(character: string): string {
  const code = character.charCodeAt(0)
  const digits = code.toString(16)
  // JSON has escaped characters below the space already, so it stays valid.
  const long = code < 0x20 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`
  return SHORT_ESCAPES[character] ?? long
}

/** Creates a writer for task output: raw bytes to a file or pipe, escaped text to a terminal. */
export function createOutputWriter(
  host: Pick<CliHost, 'isTerminal' | 'isErrTerminal' | 'outBytes' | 'errBytes'>,
  stream: 'stdout' | 'stderr' = 'stdout',
): (bytes: Uint8Array) => Promise<void> {
  const isOut = stream === 'stdout'
  const write = (bytes: Uint8Array) => (isOut ? host.outBytes(bytes) : host.errBytes(bytes))
  const isTerminal = isOut ? host.isTerminal : (host.isErrTerminal ?? host.isTerminal)
  if (!isTerminal) return write
  const text = new PrintableStream()
  return async (bytes) => await write(text.add(bytes))
}

// eslint-disable-next-line no-control-regex -- what the next part may complete
const INCOMPLETE_SEQUENCE = /(?:\r|\u001b(?:\[[0-9;]{0,32})?)$/

/** Escapes text in chunks. Incomplete characters and sequences are kept for the next chunk. */
class PrintableStream {
  readonly #decoder = new TextDecoder()
  readonly #encoder = new TextEncoder()
  #rest = ''

  add(bytes: Uint8Array): Uint8Array {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true })
    const [rest = ''] = INCOMPLETE_SEQUENCE.exec(text) ?? []
    this.#rest = rest
    return this.#encoder.encode(escapeTerminalControls(text.slice(0, text.length - rest.length)))
  }
}
