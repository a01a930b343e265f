/**
 * The value without the fields that are null: the parser writes null for what a file does not set,
 * the expectations leave it out.
 */
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (!isRecord(value)) return value
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined)
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]))
}

/**
 * The part of a value that an expectation speaks of: of objects the expected fields, of lists every
 * element. Comparing it with the expectation tells whether that is a part of the value.
 */
export function partOf(value: unknown, expected: unknown): unknown {
  if (Array.isArray(value) && Array.isArray(expected))
    return value.map((element, index) => partOf(element, expected[index]))
  if (!isRecord(value) || !isRecord(expected)) return value
  const names = Object.keys(expected)
  return Object.fromEntries(names.map((name) => [name, partOf(value[name], expected[name])]))
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
