import { v2 } from '@reeve/contract'

/** Paths that documents name. Links inside resources have no host. */
export function pathOf(...parts: readonly string[]): string {
  return [v2.BASE_PATH, ...parts.map(encodeURIComponent)].join('/')
}

/** `{ data: { id, type } }`. */
export function toOne<const T extends string>(type: T, id: string) {
  return { data: { id, type } } as const
}

export function toMany<const T extends string>(type: T, ids: readonly string[]) {
  return { data: ids.map((id) => ({ id, type })) } as const
}

export function related(...parts: readonly string[]) {
  return { links: { related: pathOf(...parts) } } as const
}

/** UTC with milliseconds and a literal `Z`. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}

export function optionalTime(ms: number | null): string | null {
  return ms === null ? null : timeText(ms)
}
