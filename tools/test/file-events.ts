/**
 * A process that runs test files tells where a file begins and ends by tests of its own, because
 * the events of the runner name the place of a test's call, which may be in a shared suite.
 */
const MARKER = '\u0001reeve'

/** A name pattern for the events themselves, so that a filter by name keeps them. */
export const EVENT_PATTERN = `^${MARKER}`

export function beginOf(file: string): string {
  return `${MARKER} begin ${file}`
}

export function endOf(file: string): string {
  return `${MARKER} end ${file}`
}

/** The types of resources that the tests of a file left open; the file is '' when unknown. */
export function leakOf(file: string, types: readonly string[]): string {
  return `${MARKER} leak ${types.join()} ${file}`
}

export interface FileEvent {
  /** `begin`, `end` or `leak`. */
  readonly kind: string
  readonly file: string
  readonly types?: readonly string[]
}

/** The event that a test stands for, or undefined for any other test. */
export function readEvent(name: string): FileEvent | undefined {
  if (!name.startsWith(`${MARKER} `)) return undefined
  const [kind = '', ...rest] = name.slice(MARKER.length + 1).split(' ')
  if (kind !== 'leak') return { kind, file: rest.join(' ') }
  return { kind, types: (rest[0] ?? '').split(','), file: rest.slice(1).join(' ') }
}
