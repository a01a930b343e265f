/** Actions bound to keys. */
export type Key =
  | 'up'
  | 'down'
  | 'page-up'
  | 'page-down'
  | 'first'
  | 'last'
  | 'open'
  | 'back'
  | 'help'
  | 'quit'

/** Key sequences in both terminal modes, with common alternatives. */
const KEY_BINDINGS: Readonly<Record<string, Key>> = {
  '\u001b[A': 'up',
  '\u001bOA': 'up',
  k: 'up',
  '\u001b[B': 'down',
  '\u001bOB': 'down',
  j: 'down',
  '\u001b[5~': 'page-up',
  '\u001b[6~': 'page-down',
  ' ': 'page-down',
  '\u001b[H': 'first',
  '\u001bOH': 'first',
  '\u001b[1~': 'first',
  g: 'first',
  '\u001b[F': 'last',
  '\u001bOF': 'last',
  '\u001b[4~': 'last',
  G: 'last',
  '\r': 'open',
  '\n': 'open',
  '\u001b[C': 'open',
  '\u001bOC': 'open',
  '\u001b': 'back',
  '\u001b[D': 'back',
  '\u001bOD': 'back',
  '\u007f': 'back',
  '\b': 'back',
  '?': 'help',
  h: 'help',
  q: 'quit',
  Q: 'quit',
  // In raw mode, Ctrl-C sends no signal.
  '\u0003': 'quit',
  '\u0004': 'quit',
}

// eslint-disable-next-line no-control-regex -- keys are control characters
const KEY_PATTERN = /\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])?|[^]/gu

/** Parses typed input; unknown keys are ignored. */
export function parseKeys(typed: string): readonly Key[] {
  return (typed.match(KEY_PATTERN) ?? []).flatMap((one) => KEY_BINDINGS[one] ?? [])
}
