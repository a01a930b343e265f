/** Requests that an installation answers at the same time: it has other clients. */
const CONCURRENT_MAX = 8

/** The results in the order of the items, a few at a time. The first failure ends it. */
export async function mapLimited<T, R>(
  items: readonly T[],
  map: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += CONCURRENT_MAX)
    results.push(...(await Promise.all(items.slice(at, at + CONCURRENT_MAX).map(map))))
  return results
}
