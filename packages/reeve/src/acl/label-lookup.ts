import { matchGlob } from '@reeve/kit/glob.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { CACHED_NAME_LENGTH_MAX, LOOKUP_CACHE_SIZE_MAX } from './limits.ts'

/** A rule for one name or pattern. */
export interface LabelRule<C extends string> {
  readonly label: string
  readonly capabilities: readonly C[]
}

/** What the rules say about names. */
interface LabelLookup<C extends string> {
  /** The capabilities under a name; none when it is denied or no rule concerns it. */
  of(name: string): ReadonlySet<C>
  /** Whether the rule of any label holds the capability. */
  anywhere(capability: C): boolean
}

/** Unites the rules of all policies of a token by label (combination 1, 3 and 4). */
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

/** Equal labels are united; one `deny` leaves nothing, which answers every question the same. */
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
 * The closest pattern has the least len(name) − len(pattern) + stars. The name is the same for all,
 * so the order of patterns can be made once: the most characters that are no star first, then by
 * code unit.
 */
function byCloseness([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return plainLength(b) - plainLength(a) || compareText(a, b)
}

function plainLength(pattern: string): number {
  return pattern.replaceAll('*', '').length
}

/** Remembers some results. When it is full it starts over: cheaper than keeping order. */
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
