import { compareText } from '@reeve/kit/sorted-list.ts'

/** One thing before and after; a side is undefined when it came or went. */
export type Pair = readonly [before: object | undefined, after: object | undefined]

/**
 * Pairs the members of two collections by their key. Where several have one key, equal ones belong
 * together and the others are taken in the order of their content, so that the order in which
 * somebody wrote them is nothing.
 */
export function pairUp(
  before: readonly object[],
  after: readonly object[],
  keyOf: (entry: object) => string,
): readonly Pair[] {
  const olds = Map.groupBy(before, keyOf)
  const news = Map.groupBy(after, keyOf)
  const keys = new Set([...olds.keys(), ...news.keys()])
  return [...keys].flatMap((key) => pairsOfKey(olds.get(key) ?? [], news.get(key) ?? []))
}

function pairsOfKey(olds: readonly object[], news: readonly object[]): readonly Pair[] {
  if (olds.length <= 1 && news.length <= 1) return [[olds[0], news[0]]]
  const [left, right] = [sortByText(olds), sortByText(news)]
  // What both sides have is no change; what remains keeps its order.
  const oldRest = withoutTexts(left, right)
  const newRest = withoutTexts(right, left)
  const length = Math.max(oldRest.length, newRest.length)
  return Array.from({ length }, (_none, i): Pair => [oldRest[i]?.entry, newRest[i]?.entry])
}

interface Written {
  readonly entry: object
  readonly text: string
}

/** Nobody gives so many things one name; whoever does has them paired with less care. */
const ALIKE_MAX = 100

function sortByText(entries: readonly object[]): readonly Written[] {
  const orderOf = entries.length > ALIKE_MAX ? () => '' : orderlessText
  return entries
    .map((entry) => ({ entry, text: JSON.stringify(entry), order: orderOf(entry) }))
    .toSorted((a, b) => compareText(a.order, b.order) || compareText(a.text, b.text))
}

/** The same text for what differs only in the order of its lists and keys. */
function orderlessText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const parts = Object.entries(value).map(([key, inner]) =>
    isList ? orderlessText(inner) : `${JSON.stringify(key)}:${orderlessText(inner)}`,
  )
  return `[${parts.toSorted(compareText).join()}]`
}

/** Each text of the others takes away one of ours. */
function withoutTexts(own: readonly Written[], others: readonly Written[]): readonly Written[] {
  const counts = new Map<string, number>()
  for (const { text } of others) counts.set(text, (counts.get(text) ?? 0) + 1)
  return own.filter(({ text }) => {
    const count = counts.get(text) ?? 0
    if (count > 0) counts.set(text, count - 1)
    return count === 0
  })
}
