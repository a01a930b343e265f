import type { GovernanceRecord } from '@reeve/contract'

/**
 * A stored record under the names of its document, for events: the row, and nothing that is worked
 * out for a caller. Rows of this kind hold no secrets.
 */
export function governanceRecord(
  type: string,
  { id, ...rest }: { readonly id: string },
): GovernanceRecord {
  const attributes = Object.entries(rest).map(([name, value]) => attributeOf(name, value))
  return { id, type, attributes: Object.fromEntries(attributes) }
}

const TIME = /(?:At)?Ms$/

/** `createdMs` is `created-at`, and a moment on the wire. */
function attributeOf(name: string, value: unknown): [string, unknown] {
  if (!TIME.test(name)) return [hyphenated(name), isPlain(value) ? inner(value) : value]
  const time = typeof value === 'number' ? new Date(value).toISOString() : null
  return [hyphenated(name.replace(TIME, 'At')), time]
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A part of a record, such as a lock. Rows are not deeper than that. */
function inner(value: object): object {
  return Object.fromEntries(
    Object.entries(value).map(([name, part]): [string, unknown] => [hyphenated(name), part]),
  )
}

function hyphenated(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
