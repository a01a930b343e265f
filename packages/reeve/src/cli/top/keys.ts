/** What a person wants. */
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

/** As terminals send them, in both of their modes, and as people of other programs know them. */
const KEYS: Readonly<Record<string, Key>> = {
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
  // A raw terminal makes no signal of Ctrl-C.
  '\u0003': 'quit',
  '\u0004': 'quit',
}

// eslint-disable-next-line no-control-regex -- keys are control characters
const ONE_KEY = /\u001b(?:\[[0-9;]*[A-Za-z~]|O[A-Za-z])?|[^]/gu

/** The keys in what was typed; those that mean nothing are left out. */
export function keysIn(typed: string): readonly Key[] {
  return (typed.match(ONE_KEY) ?? []).flatMap((one) => KEYS[one] ?? [])
}
