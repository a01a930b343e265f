/**
 * A process that runs test files tells where a file begins and ends by tests of its own, because
 * the events of the runner name the place of a test's call, which may be in a shared suite.
 */
const EVENT_PREFIX = '\u0001reeve'

/** A name pattern for the events themselves, so that a filter by name keeps them. */
export const EVENT_PATTERN = `^${EVENT_PREFIX}`

export function beginEventName(file: string): string {
  return `${EVENT_PREFIX} begin ${file}`
}

export function endEventName(file: string): string {
  return `${EVENT_PREFIX} end ${file}`
}

/** The types of resources that the tests of a file left open; the file is '' when unknown. */
export function leakEventName(file: string, types: readonly string[]): string {
  return `${EVENT_PREFIX} leak ${types.join()} ${file}`
}

export interface FileEvent {
  /** `begin`, `end` or `leak`. */
  readonly kind: string
  readonly file: string
  readonly types?: readonly string[]
}

/** The event that a test stands for, or undefined for any other test. */
export function parseEventName(name: string): FileEvent | undefined {
  if (!name.startsWith(`${EVENT_PREFIX} `)) return undefined
  const [kind = '', ...rest] = name.slice(EVENT_PREFIX.length + 1).split(' ')
  if (kind !== 'leak') return { kind, file: rest.join(' ') }
  return { kind, types: (rest[0] ?? '').split(','), file: rest.slice(1).join(' ') }
}
