import { matchGlob } from '@reeve/kit/glob.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { CACHED_NAME_LENGTH_MAX, LOOKUP_CACHE_SIZE_MAX } from './limits.ts'

/** A rule for one name or pattern. */
export interface LabelRule<C extends string> {
  readonly label: string
  readonly capabilities: readonly C[]
}

/** Rules by name. */
interface LabelLookup<C extends string> {
  /** Returns the capabilities for a name; none if it is denied or no rule matches. */
  of(name: string): ReadonlySet<C>
  /** Reports whether a rule of any label grants the capability. */
  anywhere(capability: C): boolean
}

/** Merges the rules of all policies of a token by label. */
export function compileLabels<C extends string>(rules: Iterable<LabelRule<C>>): LabelLookup<C> {
  const united = unite(rules)
  const patterns = [...united].filter(([label]) => label.includes('*')).toSorted(byCloseness)
  const find = (name: string): ReadonlySet<C> =>
    patterns.find(([pattern]) => matchGlob(pattern, name))?.[1] ?? NONE
  const closest = patterns.length === 0 ? find : remember(find)
  const exact = new Map([...united].filter(([label]) => !label.includes('*')))
  const held = new Set([...united.values()].flatMap((capabilities) => [...capabilities]))
  return {
    of: (name) => exact.get(name) ?? closest(name),
    anywhere: (capability) => held.has(capability),
  }
}

const NONE: ReadonlySet<never> = new Set<never>()

/** Merges rules with equal labels; one `deny` leaves no capabilities. */
function unite<C extends string>(rules: Iterable<LabelRule<C>>): ReadonlyMap<string, Set<C>> {
  const united = new Map<string, Set<C>>()
  const denied = new Set<string>()
  for (const { label, capabilities } of rules) {
    const known = united.get(label) ?? new Set<C>()
    united.set(label, known)
    for (const capability of capabilities) {
      if (capability === 'deny') denied.add(label)
      known.add(capability)
    }
  }
  for (const label of denied) united.get(label)?.clear()
  return united
}

/**
 * Sorts patterns from the closest. The closest has the smallest len(name) − len(pattern) + stars;
 * the name is the same for all patterns, so the order is fixed: most characters other than stars
 * first, then by code unit.
 */
function byCloseness([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return plainLength(b) - plainLength(a) || compareText(a, b)
}

function plainLength(pattern: string): number {
  return pattern.replaceAll('*', '').length
}

/** Caches results. A full cache is cleared, which is cheaper than tracking usage. */
function remember<T>(find: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>()
  return (name) => {
    const before = known.get(name)
    if (before !== undefined) return before
    const found = find(name)
    if (name.length > CACHED_NAME_LENGTH_MAX) return found
    if (known.size >= LOOKUP_CACHE_SIZE_MAX) known.clear()
    known.set(name, found)
    return found
  }
}
