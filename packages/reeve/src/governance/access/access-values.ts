import type { AttributeProblem } from '../../model/index.ts'

/** Effective values of a level, or attributes that the request must not set. */
export interface PlannedValues<V extends object> {
  readonly values: V
  readonly problems: readonly AttributeProblem[]
}

/**
 * Fixed levels have fixed values; only `custom` sets its own. Omitted ones are unchanged, or the
 * least if the level was not custom before.
 */
export function planValues<V extends object>(request: {
  readonly access: string
  /** Default values: those of the level, or of the previous custom access. */
  readonly base: V
  readonly given: Readonly<Partial<V>>
  readonly pointer: string
}): PlannedValues<V> {
  const { access, base, given, pointer } = request
  if (access === 'custom') return { values: { ...base, ...given }, problems: [] }
  return {
    values: base,
    problems: Object.keys(given).map((name) => ({
      pointer: `${pointer}/${name}`,
      // Clients match on this text.
      detail:
        `${inWords(name)} is read-only when access level is '${access}'; ` +
        `use the 'custom' access level to set this attribute.`,
    })),
  }
}

/** Formats `state-versions` as `State versions`. */
function inWords(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
