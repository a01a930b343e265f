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
import { json, type Answer } from '../answer.ts'
import { read, type Endpoint, type ReadPlan } from './endpoint.ts'
import { requiredBody } from './required-body.ts'
import { anyRight } from './requirements.ts'
import { responseMeta } from './response-meta.ts'
import { originOf } from '../slices.ts'

/** Which contexts a caller may search is decided for each of them. */
export function searchEndpoints({ store }: WorkloadContext): readonly Endpoint[] {
  const { tables } = store
  return [
    read(v1Routes.search, anyRight, ({ caller, namespace, ...request }) => {
      const body = requiredBody(request.body)
      if (!body.ok) return body
      const { Prefix, Context } = body.value
      const scope = { tables, caller, namespace }
      const prefix = { text: Prefix ?? '', context: Context ?? '', origin: originOf(request) }
      return ok(planOf(store, () => searchPrefix(scope, prefix)))
    }),
    read(v1Routes.fuzzySearch, anyRight, ({ caller, namespace, ...request }) => {
      const body = requiredBody(request.body)
      if (!body.ok) return body
      const fuzzy = {
        text: body.value.Text ?? '',
        context: body.value.Context ?? '',
        origin: originOf(request),
      }
      return ok(planOf(store, () => searchFuzzy({ tables, caller, namespace }, fuzzy)))
    }),
  ]
}

type Search<Match> = () => Promise<Result<SearchResult<Match>, Refusal>>

/** Any table may be searched, so that an answer waits for all that was written. */
function planOf<Match>(store: Store, search: Search<Match>): ReadPlan {
  return {
    index: () => store.index,
    watch: [{ table: 'jobs' }],
    answer: async () => {
      const found = await search()
      return found.ok ? ok(answerOf(store, found.value)) : found
    },
  }
}

function answerOf<Match>({ tables }: Store, found: SearchResult<Match>): Answer {
  const index = Math.max(1, ...found.tables.map((name) => tables[name].lastIndex))
  const body = {
    Matches: Object.fromEntries(found.matches),
    Truncations: Object.fromEntries(found.truncations),
    ...responseMeta(index),
  }
  return { ...json(body), headers: { [HEADERS.index]: String(index) } }
}
