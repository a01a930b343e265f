import { fields } from './table.ts'

/** Names and values, without those that have nothing to say. */
export function knownFields(entries: readonly (readonly [name: string, value: string])[]): string {
  return fields(entries.filter(([, value]) => value !== '' && value !== 'never'))
}

/** `web=1, tier=gold`; empty for none. */
export function pairsText(pairs: Readonly<Record<string, string>> | null | undefined): string {
  return Object.entries(pairs ?? {})
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value]) => `${key}=${value}`)
    .join(', ')
}

/** Sections with an empty line between them; empty ones are left out. */
export function sections(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n')
}
