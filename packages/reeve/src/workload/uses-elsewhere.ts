import { Fault } from '@reeve/kit/fault.ts'
import type { OtherRegions, WorkloadContext } from './context.ts'

/** What something may be used by, and a list that is empty where it is not. */
export interface UseQuestion {
  /** As the refusal says it: `non-terminal jobs`. */
  readonly what: string
  /** Path and query of the list. */
  readonly url: string
}

/** Which regions use something, by what uses it. */
export type RegionUses = ReadonlyMap<string, readonly string[]>

/**
 * The other regions are asked with the caller's token; without one nobody is. One that does not
 * answer, or does not tell this caller, counts as not using it: it keeps its copy for as long as it
 * does (decision 0041).
 */
export async function usesElsewhere(
  { regions }: WorkloadContext,
  secret: string | undefined,
  questions: readonly UseQuestion[],
): Promise<RegionUses> {
  if (regions === undefined || secret === undefined) return new Map()
  const uses = await Promise.all(
    questions.map(async ({ what, url }): Promise<[string, string[]]> => {
      const names = await Promise.all(
        regions
          .others()
          .map(async (other) => ((await isUsedIn(regions, other, { url, secret })) ? [other] : [])),
      )
      return [what, names.flat()]
    }),
  )
  return new Map(uses)
}

/** `non-terminal jobs in regions: [eu us]`, for whatever is used anywhere. */
export function usesTexts(
  region: string,
  here: readonly string[],
  elsewhere: RegionUses,
): readonly string[] {
  const kinds = [...new Set([...here, ...elsewhere.keys()])]
  return kinds.flatMap((what) => {
    const names = [...(here.includes(what) ? [region] : []), ...(elsewhere.get(what) ?? [])]
    return names.length === 0 ? [] : [`${what} in regions: [${names.toSorted().join(' ')}]`]
  })
}

async function isUsedIn(
  regions: OtherRegions,
  region: string,
  { url, secret: token }: { readonly url: string; readonly secret: string },
): Promise<boolean> {
  try {
    const { status, text } = await regions.ask(region, { method: 'GET', url, token })
    if (status !== 200) return false
    const list: unknown = JSON.parse(text)
    return Array.isArray(list) && list.length > 0
  } catch (thrown) {
    if (thrown instanceof Fault) return false
    throw thrown
  }
}
