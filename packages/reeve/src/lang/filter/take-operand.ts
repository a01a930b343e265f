import type { Selector } from './ast.ts'
import {
  attempt,
  recordSpecificError,
  skipSpace,
  take,
  takeNumber,
  takePattern,
  takeString,
  type Cursor,
} from './scan.ts'

/** Selectors and values, the two sides of a match. */

const IDENTIFIER = /[a-zA-Z][a-zA-Z0-9_/]*/y
const DIGITS = /[0-9]+/y
const SEGMENT = /[\p{L}\p{N}\-_.~:|]+/uy

export function takeIdentifier(cursor: Cursor): string | undefined {
  return takePattern(cursor, IDENTIFIER, '[a-zA-Z]')
}

export function takeSelector(cursor: Cursor): Selector | undefined {
  return attempt(cursor, takeDotted) ?? attempt(cursor, takePointer)
}

function takeDotted(cursor: Cursor): Selector | undefined {
  const first = takeIdentifier(cursor)
  if (first === undefined) return undefined
  const path = [first]
  for (;;) {
    const part = attempt(cursor, takeMember) ?? attempt(cursor, takeIndex)
    if (part === undefined) return { form: 'dotted', path }
    path.push(part)
  }
}

function takeMember(cursor: Cursor): string | undefined {
  if (!take(cursor, '.')) return undefined
  return takeIdentifier(cursor) ?? takePattern(cursor, DIGITS, '[0-9]')
}

function takeIndex(cursor: Cursor): string | undefined {
  if (!take(cursor, '[')) return undefined
  skipSpace(cursor)
  const start = cursor.at
  const key = takeString(cursor)
  if (key === undefined) {
    if (cursor.at === start) recordSpecificError(cursor, 'rule "index": Invalid index')
    return undefined
  }
  skipSpace(cursor)
  if (take(cursor, ']')) return key
  recordSpecificError(cursor, 'rule "index": Unclosed index expression')
  return undefined
}

/** The JSON pointer form: a quoted path in which `~1` is a slash and `~0` a tilde. */
function takePointer(cursor: Cursor): Selector | undefined {
  if (!take(cursor, '"')) return undefined
  const path: string[] = []
  while (take(cursor, '/')) {
    const segment = takePattern(cursor, SEGMENT, '[\\pL\\pN-_.~:|]')
    if (segment === undefined) return undefined
    path.push(segment.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return take(cursor, '"') ? { form: 'pointer', path } : undefined
}

/** A value is a string: an unquoted word (possibly with dots) is itself, a number its digits. */
export function takeValue(cursor: Cursor): string | undefined {
  return (
    attempt(cursor, takeDotted)?.path.join('.') ??
    attempt(cursor, takeNumber) ??
    attempt(cursor, takeString)
  )
}
