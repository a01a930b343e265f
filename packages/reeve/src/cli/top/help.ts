/** Help screen. */
export const HELP_LINES: readonly string[] = [
  'Keys',
  '',
  '  ↑ ↓  or  k j       choose a node or an allocation',
  '  PgUp PgDn          ten at once',
  '  Home End           the first, the last',
  '  Enter  or  →       look inside what is chosen',
  '  Esc  or  ←         back',
  '  ?                  this help',
  '  q  or  Ctrl-C      leave',
  '',
  'What is shown',
  '',
  '  Bars say what is given away: what the allocations of a node asked for, of what it has.',
  '  "in use" is what the machine itself measures, whoever uses it.',
  '  Allocations are sorted by the CPU that they use; "12 of 50" is used, of what was asked for.',
  '  A large cluster is measured in turns: numbers of idle allocations may be some seconds old.',
]
