import type { AttributeProblem } from '../../model/index.ts'

/** Effective values of a level, or attributes that the request must not set. */
export interface ResolvedAccessValues<V extends object> {
  readonly values: V
  readonly problems: readonly AttributeProblem[]
}

/**
 * Fixed levels have fixed values; only `custom` sets its own. Omitted ones are unchanged, or the
 * least if the level was not custom before.
 */
export function resolveAccessValues<V extends object>(request: {
  readonly access: string
  /** Default values: those of the level, or of the previous custom access. */
  readonly base: V
  readonly requested: Readonly<Partial<V>>
  readonly pointer: string
}): ResolvedAccessValues<V> {
  const { access, base, requested, pointer } = request
  if (access === 'custom') return { values: { ...base, ...requested }, problems: [] }
  return {
    values: base,
    problems: Object.keys(requested).map((name) => ({
      pointer: `${pointer}/${name}`,
      // Clients match on this text.
      detail:
        `${sentenceCase(name)} is read-only when access level is '${access}'; ` +
        `use the 'custom' access level to set this attribute.`,
    })),
  }
}

/** Formats `state-versions` as `State versions`. */
function sentenceCase(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
