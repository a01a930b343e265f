import type { AttributeProblem } from '../../model/index.ts'

/** The effective values of a level, or what the request may not have set. */
export interface PlannedValues<V extends object> {
  readonly values: V
  readonly problems: readonly AttributeProblem[]
}

/**
 * The fixed levels stand for their values; only `custom` has values of its own, and what it does
 * not say stays, or is the least when it was another level before.
 */
export function planValues<V extends object>(request: {
  readonly access: string
  /** What holds unless it is given: those of the level, or of a custom access before. */
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

/** `state-versions` is told as `State versions`. */
function inWords(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
