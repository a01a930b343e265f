import type { CliHost } from '../host.ts'
import { cutTo } from '../output/style.ts'

/** The other sheet of the terminal, without a cursor and without lines that wrap. */
const BEGIN = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
const END = '\u001b[?7h\u001b[?25h\u001b[?1049l'

/** The whole terminal, until it is given back as it was. */
export class FullScreen {
  readonly #host: CliHost
  #painted: readonly string[] = []
  #size = ''
  #restore: (() => void) | undefined

  constructor(host: CliHost) {
    this.#host = host
  }

  begin(): void {
    const makeCooked = this.#host.input.isTTY === true ? this.#host.rawTerminal?.() : undefined
    this.#host.out(BEGIN)
    const forget = this.#host.onEnd?.(() => this.end())
    this.#restore = () => {
      this.#host.out(END)
      makeCooked?.()
      forget?.()
    }
  }

  /** Paints the lines that are different from the last time. */
  paint(lines: readonly string[]): void {
    const [rows, columns] = [this.#host.rows(), this.#host.columns()]
    const shown = lines.slice(0, rows).map((line) => cutTo(harmless(line), columns))
    const size = `${rows}×${columns}`
    const isNew = size !== this.#size
    const count = Math.max(shown.length, this.#painted.length)
    const changes = Array.from({ length: count }, (_, row) => {
      const line = shown[row] ?? ''
      if (!isNew && line === this.#painted[row]) return ''
      return `\u001b[${row + 1};1H${line}\u001b[K`
    }).join('')
    this.#painted = shown
    this.#size = size
    if (changes !== '') this.#host.out(`${isNew ? '\u001b[2J' : ''}${changes}`)
  }

  /** Gives the terminal back; does nothing the second time. */
  end(): void {
    const restore = this.#restore
    this.#restore = undefined
    restore?.()
  }
}

/** Names and messages must not do this to a terminal. */
const CONTROLS =
  // eslint-disable-next-line no-control-regex -- control characters are what is taken away
  /\u001b(?!\[[0-9;]*m)|[\u0000-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Text of tasks may hold anything; only colours are let through to the terminal. */
export function harmless(line: string): string {
  return line.replaceAll(CONTROLS, ' ')
}
