/** A map of texts as requests carry it: a null value is as good as none. */
export function textMap(
  given: Readonly<Record<string, string | null | undefined>> | null | undefined,
): Readonly<Record<string, string>> | null {
  if (given === undefined || given === null) return null
  return Object.fromEntries(
    Object.entries(given).flatMap(([key, value]) =>
      typeof value === 'string' ? [[key, value] as const] : [],
    ),
  )
}
