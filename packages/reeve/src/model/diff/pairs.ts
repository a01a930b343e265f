import { compareText } from '@reeve/kit/sorted-list.ts'

/** An object before and after; an absent side is undefined. */
export type Pair = readonly [before: object | undefined, after: object | undefined]

/**
 * Pairs the members of two collections by key. If several have the same key, equal ones are paired
 * first and the others in the order of their content, so that the order in the source does not
 * matter.
 */
export function matchByKey(
  before: readonly object[],
  after: readonly object[],
  keyOf: (entry: object) => string,
): readonly Pair[] {
  const olds = Map.groupBy(before, keyOf)
  const news = Map.groupBy(after, keyOf)
  const keys = new Set([...olds.keys(), ...news.keys()])
  return [...keys].flatMap((key) => matchSameKey(olds.get(key) ?? [], news.get(key) ?? []))
}

function matchSameKey(olds: readonly object[], news: readonly object[]): readonly Pair[] {
  if (olds.length <= 1 && news.length <= 1) return [[olds[0], news[0]]]
  const [left, right] = [sortByContent(olds), sortByContent(news)]
  // Texts on both sides are unchanged; the others keep their order.
  const oldRest = withoutEqual(left, right)
  const newRest = withoutEqual(right, left)
  const length = Math.max(oldRest.length, newRest.length)
  return Array.from({ length }, (_none, i): Pair => [oldRest[i]?.entry, newRest[i]?.entry])
}

interface SerializedEntry {
  readonly entry: object
  readonly text: string
}

/**
 * Maximum number of entries with one key that are sorted by content regardless of order within;
 * larger groups are paired less precisely.
 */
const SAME_KEY_MAX = 100

function sortByContent(entries: readonly object[]): readonly SerializedEntry[] {
  const orderOf = entries.length > SAME_KEY_MAX ? () => '' : orderIndependentText
  return entries
    .map((entry) => ({ entry, text: JSON.stringify(entry), order: orderOf(entry) }))
    .toSorted((a, b) => compareText(a.order, b.order) || compareText(a.text, b.text))
}

/** Returns a text that is independent of the order of lists and keys. */
function orderIndependentText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const parts = Object.entries(value).map(([key, inner]) =>
    isList ? orderIndependentText(inner) : `${JSON.stringify(key)}:${orderIndependentText(inner)}`,
  )
  return `[${parts.toSorted(compareText).join()}]`
}

/** Removes the texts that occur in the other list, each as often as it occurs there. */
function withoutEqual(
  entries: readonly SerializedEntry[],
  others: readonly SerializedEntry[],
): readonly SerializedEntry[] {
  const counts = new Map<string, number>()
  for (const { text } of others) counts.set(text, (counts.get(text) ?? 0) + 1)
  return entries.filter(({ text }) => {
    const count = counts.get(text) ?? 0
    if (count > 0) counts.set(text, count - 1)
    return count === 0
  })
}
