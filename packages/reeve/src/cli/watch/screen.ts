import type { CliHost } from '../host.ts'
import { printableText } from '../output/printable.ts'
import { cutTo, widthOf } from '../output/style.ts'

const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'

type ScreenHost = Pick<CliHost, 'out' | 'columns' | 'rows'>

/** A few lines at the end of the output that are painted again when something has changed. */
export class Screen {
  readonly #host: ScreenHost
  #painted: readonly string[] = []

  constructor(host: ScreenHost) {
    this.#host = host
  }

  /** Puts the text in place of what was painted before. */
  paint(text: string): void {
    const columns = this.#host.columns()
    // A line that wraps, or one above the window, could not be painted over.
    const rows = Math.max(1, this.#host.rows() - 1)
    const all = printableText(text).replace(/\n$/, '').split('\n')
    const lines = all.slice(0, rows).map((line) => cutTo(line, columns))
    if (
      lines.length === this.#painted.length &&
      lines.every((line, at) => line === this.#painted[at])
    )
      return
    const begin = this.#painted.length === 0 ? HIDE_CURSOR : upBy(this.#painted.length)
    const body = lines.map((line) => `${line}\u001b[K\n`).join('')
    // What was longer before is cleared.
    this.#host.out(`${begin}${body}\u001b[J`)
    this.#painted = lines
  }

  /** Leaves the last picture, whole, and gives the cursor back. */
  end(text?: string): void {
    if (this.#painted.length > 0) {
      if (text !== undefined) this.#host.out(`${upBy(this.#painted.length)}\u001b[J`)
      this.#host.out(SHOW_CURSOR)
    }
    if (text !== undefined && widthOf(text) > 0) {
      const shown = printableText(text)
      this.#host.out(shown.endsWith('\n') ? shown : `${shown}\n`)
    }
    this.#painted = []
  }
}

function upBy(lines: number): string {
  return `\u001b[${lines}A\r`
}
