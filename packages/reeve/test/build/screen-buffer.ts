/** What a terminal would show of what was written to it; as high and as wide as it needs to be. */
export class ScreenBuffer {
  readonly #main = new Sheet()
  #sheet = this.#main
  isCursorShown = true
  /** The sheet that full-screen programs draw on, and that is gone when they leave it. */
  get isAlternate(): boolean {
    return this.#sheet !== this.#main
  }

  write(text: string): this {
    for (const part of text.split(SEQUENCE)) {
      if (part.startsWith('\u001b')) this.#obey(part)
      else this.#sheet.put(part)
    }
    return this
  }

  /** The lines of the sheet that is shown, without the blanks at their ends. */
  lines(): readonly string[] {
    return this.#sheet.lines()
  }

  text(): string {
    return this.lines()
      .map((line) => `${line}\n`)
      .join('')
  }

  #obey(sequence: string): void {
    const isPrivate = sequence.startsWith('\u001b[?')
    const numbers = sequence.slice(isPrivate ? 3 : 2, -1)
    const key = `${isPrivate ? '?' : ''}${sequence.at(-1)}`
    if (isPrivate) this.#switch(Number(numbers), key === '?h', sequence)
    // Colours are looked at where they are written.
    else if (key !== 'm') this.#sheet.obey(key, numbers.split(';').map(Number), sequence)
  }

  #switch(mode: number, isOn: boolean, sequence: string): void {
    if (mode === 25) this.isCursorShown = isOn
    else if (mode === 1049) this.#sheet = isOn ? new Sheet() : this.#main
    // Whether long lines wrap: here none does.
    else if (mode !== 7) throw new Error(`${JSON.stringify(sequence)} is not known here`)
  }
}

// eslint-disable-next-line no-control-regex -- escape sequences are what this is about
const SEQUENCE = /(\u001b\[\??[0-9;]*[A-Za-z])/

class Sheet {
  #lines: string[][] = [[]]
  #row = 0
  #column = 0

  put(text: string): void {
    for (const char of text) {
      if (char === '\r') this.#column = 0
      else if (char === '\n') this.#row += 1
      else {
        this.#lineAt(this.#row)[this.#column] = char
        this.#column += 1
      }
      // Terminals as they are set up by default return the carriage at each line feed.
      if (char === '\n') this.#column = 0
    }
  }

  obey(key: string, [first = 0, second = 0]: readonly number[], sequence: string): void {
    if (key === 'A') this.#row = Math.max(0, this.#row - Math.max(1, first))
    else if (key === 'H') {
      this.#row = Math.max(1, first) - 1
      this.#column = Math.max(1, second) - 1
    } else if (key === 'K') this.#lineAt(this.#row).length = this.#column
    else if (key === 'J' && first === 2) this.#lines = [[]]
    else if (key === 'J') {
      this.#lineAt(this.#row).length = this.#column
      this.#lines.length = this.#row + 1
    } else throw new Error(`${JSON.stringify(sequence)} is not known here`)
  }

  lines(): readonly string[] {
    const lines = Array.from(this.#lines, (line) =>
      Array.from(line ?? [], (char) => char ?? ' ')
        .join('')
        .trimEnd(),
    )
    while (lines.at(-1) === '') lines.pop()
    return lines
  }

  #lineAt(row: number): string[] {
    const line = this.#lines[row] ?? []
    this.#lines[row] = line
    return line
  }
}
