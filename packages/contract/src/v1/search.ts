import { Type } from 'typebox'
import { route } from '../route.ts'
import { MapOf, Nullable, type Input, type Shape } from '../shape.ts'
import { denied, ok, refused, WRITE } from './answer.ts'
import { ReadQuery } from './query.ts'
import { responseMeta } from './write-response.ts'

/** Reference §8.7; `deployment` and `scaling_policy` are singular on the wire. */
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

export const SearchRequest = Type.Object(
  {
    Prefix: Type.String(),
    Context: Type.String({ description: 'Where to look; empty or `all` for everywhere.' }),
  },
  { $id: 'SearchRequest' },
)
export type SearchRequest = Input<Shape<typeof SearchRequest>>

export const SearchResponse = Type.Object(
  {
    Matches: MapOf(Nullable(Type.Array(Type.String()))),
    Truncations: MapOf(Type.Boolean({ description: 'Whether there are more.' })),
    ...responseMeta,
  },
  { $id: 'SearchResponse' },
)
export type SearchResponse = Shape<typeof SearchResponse>

export const FuzzySearchRequest = Type.Object(
  {
    Text: Type.String({ description: 'At least 2 characters.' }),
    Context: Type.String({ description: 'Where to look; empty or `all` for everywhere.' }),
  },
  { $id: 'FuzzySearchRequest' },
)
export type FuzzySearchRequest = Input<Shape<typeof FuzzySearchRequest>>

export const FuzzyMatch = Type.Object(
  {
    ID: Type.String(),
    Scope: Nullable(Type.Array(Type.String(), { description: 'Namespace, job, group, task.' })),
  },
  { $id: 'FuzzyMatch' },
)
export type FuzzyMatch = Shape<typeof FuzzyMatch>

export const FuzzySearchResponse = Type.Object(
  {
    Matches: MapOf(Nullable(Type.Array(FuzzyMatch))),
    Truncations: MapOf(Type.Boolean({ description: 'Whether there are more.' })),
    ...responseMeta,
  },
  { $id: 'FuzzySearchResponse' },
)
export type FuzzySearchResponse = Shape<typeof FuzzySearchResponse>

export const searchRoutes = {
  search: route({
    id: 'search',
    methods: WRITE,
    path: '/v1/search',
    answeredBy: 'any',
    audit: 'none',
    cost: 4,
    summary: 'Find things whose id or name begins with a text.',
    section: 'Search',
    query: ReadQuery,
    body: SearchRequest,
    answers: {
      200: ok(SearchResponse, 'At most 20 matches for each context.'),
      400: refused('The context is unknown.'),
      403: denied,
    },
    needs: 'what reading the context needs; results are filtered',
  }),
  fuzzySearch: route({
    id: 'fuzzySearch',
    methods: WRITE,
    path: '/v1/search/fuzzy',
    answeredBy: 'any',
    audit: 'none',
    cost: 8,
    summary: 'Find things whose name holds a text, in any case.',
    section: 'Search',
    query: ReadQuery,
    body: FuzzySearchRequest,
    answers: {
      200: ok(FuzzySearchResponse, 'The matches, best first.'),
      400: refused('`fuzzy search query must be at least 2 characters, got <n>`'),
      403: denied,
    },
    needs: 'what reading the context needs; results are filtered',
  }),
} as const
