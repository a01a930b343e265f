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
  capabilitiesFor(name: string): ReadonlySet<C>
  /** Reports whether a rule of any label grants the capability. */
  any(capability: C): boolean
}

/** Merges the rules of all policies of a token by label. */
export function compileLabelRules<C extends string>(rules: Iterable<LabelRule<C>>): LabelLookup<C> {
  const merged = mergeRules(rules)
  const patterns = [...merged].filter(([label]) => label.includes('*')).toSorted(bySpecificity)
  const find = (name: string): ReadonlySet<C> =>
    patterns.find(([pattern]) => matchGlob(pattern, name))?.[1] ?? NONE
  const closest = patterns.length === 0 ? find : memoize(find)
  const exact = new Map([...merged].filter(([label]) => !label.includes('*')))
  const granted = new Set([...merged.values()].flatMap((capabilities) => [...capabilities]))
  return {
    capabilitiesFor: (name) => exact.get(name) ?? closest(name),
    any: (capability) => granted.has(capability),
  }
}

const NONE: ReadonlySet<never> = new Set<never>()

/** Merges rules with equal labels; one `deny` leaves no capabilities. */
function mergeRules<C extends string>(rules: Iterable<LabelRule<C>>): ReadonlyMap<string, Set<C>> {
  const merged = new Map<string, Set<C>>()
  const denied = new Set<string>()
  for (const { label, capabilities } of rules) {
    const capabilitiesOfLabel = merged.get(label) ?? new Set<C>()
    merged.set(label, capabilitiesOfLabel)
    for (const capability of capabilities) {
      if (capability === 'deny') denied.add(label)
      capabilitiesOfLabel.add(capability)
    }
  }
  for (const label of denied) merged.get(label)?.clear()
  return merged
}

/**
 * Sorts patterns from the closest. The closest has the smallest len(name) − len(pattern) + stars;
 * the name is the same for all patterns, so the order is fixed: most characters other than stars
 * first, then by code unit.
 */
function bySpecificity([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return plainLength(b) - plainLength(a) || compareText(a, b)
}

function plainLength(pattern: string): number {
  return pattern.replaceAll('*', '').length
}

/** Caches results. A full cache is cleared: that is cheaper than tracking usage. */
function memoize<T>(find: (name: string) => T): (name: string) => T {
  const cache = new Map<string, T>()
  return (name) => {
    const cached = cache.get(name)
    if (cached !== undefined) return cached
    const found = find(name)
    if (name.length > CACHED_NAME_LENGTH_MAX) return found
    if (cache.size >= LOOKUP_CACHE_SIZE_MAX) cache.clear()
    cache.set(name, found)
    return found
  }
}
