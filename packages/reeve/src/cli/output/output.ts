import type { CliHost } from '../host.ts'
import { escapeTerminalControls } from './printable.ts'
import type { Paint } from './color.ts'

/** Renders data as JSON or with a template. */
export type Render = (data: unknown) => string

interface OutputOptions {
  readonly host: CliHost
  readonly paint: Paint
  /** Set by `--json` or `--template`; undefined for text. */
  readonly render: Render | undefined
}

/** Prints results of commands as text, as JSON, or with a template. */
export class Output {
  readonly paint: Paint
  readonly #host: CliHost
  readonly #render: Render | undefined

  constructor({ host, paint, render }: OutputOptions) {
    this.paint = paint
    this.#host = host
    this.#render = render
  }

  /**
   * Whether the output is JSON or a template: then only the result is printed to standard output.
   */
  get isStructured(): boolean {
    return this.#render !== undefined
  }

  /** Whether lines may be redrawn. */
  get canRedraw(): boolean {
    return this.#host.isTerminal && !this.isStructured
  }

  /** Prints the result of a command: the rendered data, or the text. */
  print(data: unknown, text: () => string): void {
    this.#write(this.#render === undefined ? text() : this.#render(data))
  }

  /** Prints a line, unless the output is structured. */
  printLine(line: string): void {
    if (!this.isStructured) this.#write(line === '' ? '\n' : line)
  }

  /** Prints progress, warnings and next steps to standard error. */
  printNotice(line: string): void {
    const { isTerminal, isErrTerminal = isTerminal } = this.#host
    this.#host.err(withNewline(isErrTerminal ? escapeTerminalControls(line) : line))
  }

  /**
   * Escapes control characters on a terminal, because the text contains names and messages of other
   * users.
   */
  #write(text: string): void {
    this.#host.out(withNewline(this.#host.isTerminal ? escapeTerminalControls(text) : text))
  }
}

export const renderJson: Render = (data) => JSON.stringify(data, null, 2)

function withNewline(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
