import { v2 } from '@reeve/contract'

/** Returns the path of a resource. Links inside resources have no host. */
export function resourcePath(...parts: readonly string[]): string {
  return [v2.BASE_PATH, ...parts.map(encodeURIComponent)].join('/')
}

/** Relationship to one resource: `{ data: { id, type } }`. */
export function toOne<const T extends string>(type: T, id: string) {
  return { data: { id, type } } as const
}

export function toMany<const T extends string>(type: T, ids: readonly string[]) {
  return { data: ids.map((id) => ({ id, type })) } as const
}

export function relatedLink(...parts: readonly string[]) {
  return { links: { related: resourcePath(...parts) } } as const
}

/** Formats a time in UTC with milliseconds and `Z`. */
export function formatTime(ms: number): string {
  return new Date(ms).toISOString()
}

export function formatOptionalTime(ms: number | null): string | null {
  return ms === null ? null : formatTime(ms)
}
