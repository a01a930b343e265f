import type { FuzzySearchResponse, SearchResponse } from '@reeve/contract'
import { paths } from '../paths.ts'
import type { Api } from '../session/api.ts'

/** A search result: a page to open. */
export interface SearchHit {
  readonly kind: string
  readonly text: string
  readonly detail: string
  readonly href: string
}

const QUERY_CHARS_MIN = 2
/** Texts that may be the prefix of an ID; shorter ones match too many. */
const ID_PREFIX_PATTERN = /^[0-9a-f][0-9a-f-]{3,}$/
const WORKLOAD_HITS_MAX = 6

/** Searches jobs, nodes, allocations, evaluations and deployments. */
export async function searchWorkload(
  api: Api,
  text: string,
  signal: AbortSignal,
): Promise<readonly SearchHit[]> {
  if (text.length < QUERY_CHARS_MIN) return []
  const query = { namespace: '*' }
  const byName = api.v1.fuzzySearch({ query, body: { Text: text, Context: 'all' }, signal })
  if (!ID_PREFIX_PATTERN.test(text)) return hitsByName((await byName).data)
  // Prefixes of ids have an even number of characters without dashes.
  const byId = api.v1.search({ query, body: { Prefix: text, Context: 'all' }, signal })
  const [named, prefixed] = await Promise.all([byName, byId])
  return uniqueHits([...hitsByName(named.data), ...hitsByPrefix(prefixed.data)])
}

function hitsByName({ Matches }: FuzzySearchResponse): readonly SearchHit[] {
  const matchesIn = (context: string) => (Matches[context] ?? []).slice(0, WORKLOAD_HITS_MAX)
  return [
    ...matchesIn('jobs').map(({ ID, Scope }) => {
      const [namespace = 'default', id = ID] = Scope ?? []
      return { kind: 'Job', text: ID, detail: namespace, href: paths.job({ namespace, id }) }
    }),
    ...matchesIn('nodes').map(({ ID, Scope }) => {
      const id = Scope?.[0] ?? ID
      return { kind: 'Node', text: ID, detail: id.slice(0, 8), href: paths.node(id) }
    }),
    ...matchesIn('allocs').map(({ ID, Scope }) => {
      const id = Scope?.[1] ?? ID
      return { kind: 'Allocation', text: ID, detail: id.slice(0, 8), href: paths.allocation(id) }
    }),
  ]
}

function hitsByPrefix({ Matches }: SearchResponse): readonly SearchHit[] {
  const matchesIn = (context: string) => (Matches[context] ?? []).slice(0, WORKLOAD_HITS_MAX)
  return [
    ...matchesIn('allocs').map((id) => hitOf('Allocation', id, paths.allocation(id))),
    ...matchesIn('nodes').map((id) => hitOf('Node', id, paths.node(id))),
    ...matchesIn('evals').map((id) => hitOf('Evaluation', id, paths.evaluation(id))),
    ...matchesIn('deployment').map((id) => hitOf('Deployment', id, paths.deployment(id))),
  ]
}

function hitOf(kind: string, id: string, href: string): SearchHit {
  return { kind, text: id.slice(0, 8), detail: id, href }
}

function uniqueHits(hits: readonly SearchHit[]): readonly SearchHit[] {
  return [...new Map(hits.toReversed().map((hit) => [hit.href, hit])).values()].toReversed()
}
