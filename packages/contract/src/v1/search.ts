import * as t from './shared-schemas.ts'
import { readByBody, routes } from './define.ts'
import { responseMeta } from './write-response.ts'

/** `deployment` and `scaling_policy` are singular on the wire. */
export const SEARCH_CONTEXTS = [
  'jobs',
  'evals',
  'allocs',
  'nodes',
  'node_pools',
  'deployment',
  'namespaces',
  'scaling_policy',
  'plugins',
  'volumes',
  'host_volumes',
  'vars',
  'quotas',
  'recommendations',
  'all',
] as const
export type SearchContext = (typeof SEARCH_CONTEXTS)[number]

/** Contexts that only the fuzzy search finds, inside jobs and nodes. */
export const FUZZY_CONTEXTS = [
  'groups',
  'services',
  'tasks',
  'images',
  'commands',
  'classes',
] as const
export type FuzzyContext = (typeof FUZZY_CONTEXTS)[number]

export const SearchRequest = t.Named('SearchRequest', {
  Prefix: t.String(),
  Context: t.String({ description: 'Where to look; empty or `all` for everywhere.' }),
})

export const SearchResponse = t.Named('SearchResponse', {
  Matches: t.MapOf(t.Nullable(t.Array(t.String()))),
  Truncations: t.MapOf(t.Boolean({ description: 'Whether there are more.' })),
  ...responseMeta,
})
export type SearchResponse = t.Infer<typeof SearchResponse>

export const FuzzySearchRequest = t.Named('FuzzySearchRequest', {
  Text: t.String({ description: 'At least 2 characters.' }),
  Context: t.String({ description: 'Where to look; empty or `all` for everywhere.' }),
})

export const FuzzyMatch = t.Named('FuzzyMatch', {
  ID: t.String(),
  Scope: t.Nullable(t.Array(t.String(), { description: 'Namespace, job, group, task.' })),
})
export type FuzzyMatch = t.Infer<typeof FuzzyMatch>

export const FuzzySearchResponse = t.Named('FuzzySearchResponse', {
  Matches: t.MapOf(t.Nullable(t.Array(FuzzyMatch))),
  Truncations: t.MapOf(t.Boolean({ description: 'Whether there are more.' })),
  ...responseMeta,
})
export type FuzzySearchResponse = t.Infer<typeof FuzzySearchResponse>

export const searchRoutes = routes('Search', {
  search: readByBody('/search', {
    summary: 'Find things whose id or name begins with a text.',
    answeredBy: 'any',
    audit: 'none',
    cost: 4,
    body: SearchRequest,
    returns: t.jsonResponse(SearchResponse, 'At most 20 matches for each context.'),
    errors: { 400: 'The context is unknown.' },
    needs: 'what reading the context needs; results are filtered',
  }),
  fuzzySearch: readByBody('/search/fuzzy', {
    summary: 'Find things whose name holds a text, in any case.',
    answeredBy: 'any',
    audit: 'none',
    cost: 8,
    body: FuzzySearchRequest,
    returns: t.jsonResponse(FuzzySearchResponse, 'The matches, best first.'),
    errors: { 400: '`fuzzy search query must be at least 2 characters, got <n>`' },
    needs: 'what reading the context needs; results are filtered',
  }),
})
