import type { CliHost } from '../host.ts'
import { truncateToWidth } from '../output/style.ts'

/** Switches to the alternate screen, without cursor and line wrapping. */
const ENTER_SCREEN = '\u001b[?1049h\u001b[?25l\u001b[?7l\u001b[2J'
const LEAVE_SCREEN = '\u001b[?7h\u001b[?25h\u001b[?1049l'

/** Owns the terminal screen until it is restored. */
export class AlternateScreen {
  readonly #host: CliHost
  #drawnLines: readonly string[] = []
  #size = ''
  #restore: (() => void) | undefined

  constructor(host: CliHost) {
    this.#host = host
  }

  enter(): void {
    const makeCooked = this.#host.input.isTTY === true ? this.#host.enterRawMode?.() : undefined
    this.#host.out(ENTER_SCREEN)
    const forget = this.#host.onExit?.(() => this.leave())
    this.#restore = () => {
      this.#host.out(LEAVE_SCREEN)
      makeCooked?.()
      forget?.()
    }
  }

  /** Draws the changed lines. */
  paint(lines: readonly string[]): void {
    const [rows, columns] = [this.#host.rows(), this.#host.columns()]
    const shown = lines
      .slice(0, rows)
      .map((line) => truncateToWidth(stripControlCharacters(line), columns))
    const size = `${rows}×${columns}`
    const isNew = size !== this.#size
    const count = Math.max(shown.length, this.#drawnLines.length)
    const changes = Array.from({ length: count }, (_, row) => {
      const line = shown[row] ?? ''
      if (!isNew && line === this.#drawnLines[row]) return ''
      return `\u001b[${row + 1};1H${line}\u001b[K`
    }).join('')
    this.#drawnLines = shown
    this.#size = size
    if (changes !== '') this.#host.out(`${isNew ? '\u001b[2J' : ''}${changes}`)
  }

  /** Restores the terminal. Idempotent. */
  leave(): void {
    const restore = this.#restore
    this.#restore = undefined
    restore?.()
  }
}

/** Control characters, except colors. */
const CONTROLS =
  // eslint-disable-next-line no-control-regex -- control characters are what is taken away
  /\u001b(?!\[[0-9;]*m)|[\u0000-\u001a\u001c-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g

/** Replaces control characters except colors. */
export function stripControlCharacters(line: string): string {
  return line.replaceAll(CONTROLS, ' ')
}
