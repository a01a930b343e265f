import type { CliHost } from '../host.ts'

/**
 * Characters that would act on a terminal, or show text in another order than it is read. Names,
 * messages and logs come from others, who must not paint over what this program says.
 */
// eslint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** The same, but for line feeds, tabs and colours. */
const BETWEEN_LINES =
  // eslint-disable-next-line no-control-regex -- as above
  /\r(?!\n)|\u001b(?!\[[0-9;]*m)|[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** A name on one line: every control character is written as `\n`, `\x1b` or `\u202e`. */
export function printableName(name: string): string {
  return name.replaceAll(CONTROLS, escapeOf)
}

/** Text of several lines, perhaps with colours: those, line feeds and tabs stay as they are. */
export function printableText(text: string): string {
  return text.replaceAll(BETWEEN_LINES, escapeOf)
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escapeOf(character: string): string {
  const code = character.charCodeAt(0)
  const digits = code.toString(16)
  // JSON on a terminal stays JSON: it has escaped all that is below the blank itself.
  const long = code < 0x20 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`
  return SHORT[character] ?? long
}

/** Writes bytes of a task: as they are into a file or pipe, as printable text to a terminal. */
export function taskWriter(
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
const UNFINISHED = /(?:\r|\u001b(?:\[[0-9;]{0,32})?)$/

/** Makes a text printable that comes in parts. Half a character or sequence waits for its rest. */
class PrintableStream {
  readonly #decoder = new TextDecoder()
  readonly #encoder = new TextEncoder()
  #rest = ''

  add(bytes: Uint8Array): Uint8Array {
    const text = this.#rest + this.#decoder.decode(bytes, { stream: true })
    const [rest = ''] = UNFINISHED.exec(text) ?? []
    this.#rest = rest
    return this.#encoder.encode(printableText(text.slice(0, text.length - rest.length)))
  }
}
