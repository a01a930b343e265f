/** Converts a string map of a request; null values are omitted. */
export function stringMap(
  given: Readonly<Record<string, string | null | undefined>> | null | undefined,
): Readonly<Record<string, string>> | null {
  if (given === undefined || given === null) return null
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) =>
      typeof value === 'string' ? [[key, value] as const] : [],
    ),
  )
}
