/** One call of the program and what it must come to; `{name}` is what an earlier row kept. */
export interface Row {
  /** Words after `reeve`, which begin with the path of a command; a list when one has spaces. */
  readonly line: string | readonly string[]
  /** Piped in. */
  readonly input?: string
  /** What standard output says. */
  readonly says?: RegExp
  /** What standard error says; it must be empty unless given. */
  readonly warns?: RegExp
  /** 0 unless given. */
  readonly code?: number
  /** The first group of each, found in what it wrote, is kept under its name. */
  readonly keeps?: Readonly<Record<string, RegExp>>
  /** Ctrl-C as soon as it has written this. */
  readonly leavesAt?: RegExp
  /** Repeated until it says what it should: it looks at something that takes its time. */
  readonly isAwaited?: boolean
  /** Variables on top of those of every row. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Rows in their order; other stories run beside it. */
export interface Story {
  readonly name: string
  readonly files?: Readonly<Record<string, string | Uint8Array>>
  readonly rows: readonly Row[]
}
