import { HEADERS, v1Routes } from '@reeve/contract'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Store } from '../../state/index.ts'
import {
  searchFuzzy,
  searchPrefix,
  type SearchResult,
  type WorkloadContext,
} from '../../workload/index.ts'
import { json, type HttpResponse } from '../response.ts'
import { read, type Endpoint, type WatchedRead } from './endpoint.ts'
import { requireBody } from './errors.ts'
import { anyPermission } from './access.ts'
import { responseMeta } from './responses.ts'
import { workOrigin } from '../list-page.ts'

/** Returns the search routes. The use case decides which contexts the caller may search. */
export function searchEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  const { tables } = store
  return [
    read(v1Routes.search, anyPermission, ({ caller, namespace, ...request }) => {
      const body = requireBody(request.body)
      if (!body.ok) return body
      const { Prefix, Context } = body.value
      const scope = { tables, caller, namespace }
      const prefix = { text: Prefix ?? '', context: Context ?? '', origin: workOrigin(request) }
      return ok(searchPlan(store, () => searchPrefix(scope, prefix)))
    }),
    read(v1Routes.fuzzySearch, anyPermission, ({ caller, namespace, ...request }) => {
      const body = requireBody(request.body)
      if (!body.ok) return body
      const fuzzy = {
        text: body.value.Text ?? '',
        context: body.value.Context ?? '',
        origin: workOrigin(request),
      }
      return ok(searchPlan(store, () => searchFuzzy({ tables, caller, namespace }, fuzzy)))
    }),
  ]
}

type Search<Match> = () => Promise<Result<SearchResult<Match>, Refusal>>

/** A search may cover any table. */
function searchPlan<Match>(store: Store, search: Search<Match>): WatchedRead {
  return {
    index: () => store.index,
    watch: [],
    respond: async () => {
      const found = await search()
      return found.ok ? ok(searchResponse(store, found.value)) : found
    },
  }
}

function searchResponse<Match>({ tables }: Store, found: SearchResult<Match>): HttpResponse {
  const index = Math.max(1, ...found.tables.map((name) => tables[name].lastIndex))
  const body = {
    Matches: Object.fromEntries(found.matches),
    Truncations: Object.fromEntries(found.truncations),
    ...responseMeta(index),
  }
  return { ...json(body), headers: { [HEADERS.index]: String(index) } }
}
