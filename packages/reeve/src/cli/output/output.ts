import type { CliHost } from '../host.ts'
import { printableText } from './printable.ts'
import type { Paint } from './style.ts'

/** Data as a machine wants it. */
export type Render = (data: unknown) => string

interface OutputOptions {
  readonly host: CliHost
  readonly paint: Paint
  /** `--json` or `--template`; undefined for a person. */
  readonly render: Render | undefined
}

/** How a command shows what it found: for people, as JSON, or through a template. */
export class Output {
  readonly paint: Paint
  readonly #host: CliHost
  readonly #render: Render | undefined

  constructor({ host, paint, render }: OutputOptions) {
    this.paint = paint
    this.#host = host
    this.#render = render
  }

  /** Whether a machine reads the answer: then nothing but the answer is written to it. */
  get isForMachines(): boolean {
    return this.#render !== undefined
  }

  /** Whether lines may be written over. */
  get isLive(): boolean {
    return this.#host.isTerminal && !this.isForMachines
  }

  /** The answer of a command: data for machines, text for people. */
  show(data: unknown, text: () => string): void {
    this.#write(this.#render === undefined ? text() : this.#render(data))
  }

  /** A line for people only. */
  say(line: string): void {
    if (!this.isForMachines) this.#write(line === '' ? '\n' : line)
  }

  /** Progress, warnings and next steps: never part of the answer. */
  note(line: string): void {
    const { isTerminal, isErrTerminal = isTerminal } = this.#host
    this.#host.err(ended(isErrTerminal ? printableText(line) : line))
  }

  /** Names and messages of others are in it, and must not act on the terminal. */
  #write(text: string): void {
    this.#host.out(ended(this.#host.isTerminal ? printableText(text) : text))
  }
}

export const renderJson: Render = (data) => JSON.stringify(data, null, 2)

function ended(text: string): string {
  return text === '' || text.endsWith('\n') ? text : `${text}\n`
}
