import type { CliHost } from '../host.ts'
import { escapeTerminalControls } from '../output/printable.ts'
import { truncateToWidth, displayWidth } from '../output/style.ts'

const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'

type ScreenHost = Pick<CliHost, 'out' | 'columns' | 'rows'>

/** Lines at the end of the output that are redrawn on changes. */
export class LiveRegion {
  readonly #host: ScreenHost
  #drawnLines: readonly string[] = []

  constructor(host: ScreenHost) {
    this.#host = host
  }

  /** Replaces the previous text. */
  redraw(text: string): void {
    const columns = this.#host.columns()
    // Wrapped lines and lines above the window cannot be overwritten.
    const rows = Math.max(1, this.#host.rows() - 1)
    const all = escapeTerminalControls(text).replace(/\n$/, '').split('\n')
    const lines = all.slice(0, rows).map((line) => truncateToWidth(line, columns))
    if (
      lines.length === this.#drawnLines.length &&
      lines.every((line, at) => line === this.#drawnLines[at])
    )
      return
    const begin = this.#drawnLines.length === 0 ? HIDE_CURSOR : cursorUp(this.#drawnLines.length)
    const body = lines.map((line) => `${line}\u001b[K\n`).join('')
    // Clears the rest of a longer previous text.
    this.#host.out(`${begin}${body}\u001b[J`)
    this.#drawnLines = lines
  }

  /** Prints the final text and shows the cursor again. */
  end(text?: string): void {
    if (this.#drawnLines.length > 0) {
      if (text !== undefined) this.#host.out(`${cursorUp(this.#drawnLines.length)}\u001b[J`)
      this.#host.out(SHOW_CURSOR)
    }
    if (text !== undefined && displayWidth(text) > 0) {
      const shown = escapeTerminalControls(text)
      this.#host.out(shown.endsWith('\n') ? shown : `${shown}\n`)
    }
    this.#drawnLines = []
  }
}

function cursorUp(lines: number): string {
  return `\u001b[${lines}A\r`
}
