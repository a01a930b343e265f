import { renderFields } from './table.ts'

/** Formats names and values, without empty values. */
export function renderNonEmptyFields(
  entries: readonly (readonly [name: string, value: string])[],
): string {
  return renderFields(entries.filter(([, value]) => value !== '' && value !== 'never'))
}

/** Formats pairs as `web=1, tier=gold`; empty if there are none. */
export function formatKeyValues(
  pairs: Readonly<Record<string, string>> | null | undefined,
): string {
  return Object.entries(pairs ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`)
    .join(', ')
}

/** Joins non-empty sections with an empty line between them. */
export function joinSections(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n')
}
