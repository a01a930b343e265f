import type { FuzzySearchResponse, SearchResponse } from '@reeve/contract'
import { paths } from '../paths.ts'
import type { Api } from '../session/api.ts'

/** One thing that the palette can go to. */
export interface Hit {
  readonly kind: string
  readonly text: string
  readonly detail: string
  readonly href: string
}

const TEXT_CHARS_MIN = 2
/** Ids are searched by their beginning, and shorter ones would match nearly everything. */
const LOOKS_LIKE_ID = /^[0-9a-f][0-9a-f-]{3,}$/
const HITS_OF_KIND_MAX = 6

/** What the server finds for a text, of every kind that has a page. */
export async function findThings(
  api: Api,
  text: string,
  signal: AbortSignal,
): Promise<readonly Hit[]> {
  if (text.length < TEXT_CHARS_MIN) return []
  const query = { namespace: '*' }
  const byName = api.v1.fuzzySearch({ query, body: { Text: text, Context: 'all' }, signal })
  if (!LOOKS_LIKE_ID.test(text)) return namedHits((await byName).data)
  // Prefixes of ids have an even number of characters without dashes.
  const byId = api.v1.search({ query, body: { Prefix: text, Context: 'all' }, signal })
  const [named, prefixed] = await Promise.all([byName, byId])
  return uniqueHits([...namedHits(named.data), ...prefixedHits(prefixed.data)])
}

function namedHits({ Matches }: FuzzySearchResponse): readonly Hit[] {
  const of = (context: string) => (Matches[context] ?? []).slice(0, HITS_OF_KIND_MAX)
  return [
    ...of('jobs').map(({ ID, Scope }) => {
      const [namespace = 'default', id = ID] = Scope ?? []
      return { kind: 'Job', text: ID, detail: namespace, href: paths.job({ namespace, id }) }
    }),
    ...of('nodes').map(({ ID, Scope }) => {
      const id = Scope?.[0] ?? ID
      return { kind: 'Node', text: ID, detail: id.slice(0, 8), href: paths.node(id) }
    }),
    ...of('allocs').map(({ ID, Scope }) => {
      const id = Scope?.[1] ?? ID
      return { kind: 'Allocation', text: ID, detail: id.slice(0, 8), href: paths.allocation(id) }
    }),
  ]
}

function prefixedHits({ Matches }: SearchResponse): readonly Hit[] {
  const of = (context: string) => (Matches[context] ?? []).slice(0, HITS_OF_KIND_MAX)
  return [
    ...of('allocs').map((id) => hitOf('Allocation', id, paths.allocation(id))),
    ...of('nodes').map((id) => hitOf('Node', id, paths.node(id))),
    ...of('evals').map((id) => hitOf('Evaluation', id, paths.evaluation(id))),
    ...of('deployment').map((id) => hitOf('Deployment', id, paths.deployment(id))),
  ]
}

function hitOf(kind: string, id: string, href: string): Hit {
  return { kind, text: id.slice(0, 8), detail: id, href }
}

function uniqueHits(hits: readonly Hit[]): readonly Hit[] {
  return [...new Map(hits.toReversed().map((hit) => [hit.href, hit])).values()].toReversed()
}
