import { Fault } from '@reeve/kit/fault.ts'
import type { OtherRegions, WorkloadContext } from './context.ts'

/** A list that contains the users of an object, and is empty if it is unused. */
export interface UseQuestion {
  /** Kind of user in the refusal: `non-terminal jobs`. */
  readonly what: string
  /** Path and query of the list. */
  readonly url: string
}

/** Regions that use an object, by kind of user. */
export type RegionUses = ReadonlyMap<string, readonly string[]>

/**
 * Queries the other regions with the caller's token; none without a token. A region that does not
 * respond, or denies permission, counts as not using the object: it keeps its copy while it does
 * (decision 0041).
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

/** Returns `non-terminal jobs in regions: [eu us]` for each kind of user. */
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
