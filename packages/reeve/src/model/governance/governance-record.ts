import type { GovernanceRecord } from '@reeve/contract'

/**
 * Converts a row to an event record with attribute names of the API. Such rows contain no secrets
 * and no values computed for a caller.
 */
export function governanceRecord(
  type: string,
  { id, ...rest }: { readonly id: string },
): GovernanceRecord {
  const attributes = Object.entries(rest).map(([name, value]) => attributeOf(name, value))
  return { id, type, attributes: Object.fromEntries(attributes) }
}

const TIME_SUFFIX = /(?:At)?Ms$/

/** Converts `createdMs` to `created-at` with an ISO time. */
function attributeOf(name: string, value: unknown): [string, unknown] {
  if (!TIME_SUFFIX.test(name))
    return [toKebabCase(name), isPlainObject(value) ? withHyphenatedKeys(value) : value]
  const time = typeof value === 'number' ? new Date(value).toISOString() : null
  return [toKebabCase(name.replace(TIME_SUFFIX, 'At')), time]
}

function isPlainObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Converts the keys of a nested object, such as a lock. Rows have only one level of nesting. */
function withHyphenatedKeys(value: object): object {
  return Object.fromEntries(
    Object.entries(value).map(([name, part]): [string, unknown] => [toKebabCase(name), part]),
  )
}

function toKebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}
