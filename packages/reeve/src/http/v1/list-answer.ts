import { ok, type Result } from '@reeve/kit/result.ts'
import type { FilterOptions } from '../../lang/filter/index.ts'
import { LIMITS, type Refusal } from '../../model/index.ts'
import { jsonBatches, jsonItems, type Answer } from '../answer.ts'
import { buildPage, type PageQuery } from '../list-page.ts'
import { slicesOf } from '../slices.ts'
import type { Walk } from './walks.ts'

export interface ListOptions<Row> {
  readonly walk: Walk<Row>
  readonly query: PageQuery
  /** The record's declared types, for the filter. */
  readonly filter: FilterOptions
  /** Filters see the full object. The row itself unless given. */
  readonly filterView?: (row: Row) => unknown
  /** The item as the list shows it; the row itself unless given. */
  readonly stub?: (row: Row) => unknown
  /** The JSON text of that, where it is kept; it is made anew unless given. */
  readonly stubText?: (row: Row) => string
}

/** One page of a list, as every list route answers. A long list without pages is streamed. */
export async function listAnswer<Row>(
  { walk, query, filter, filterView, stub = asItIs, stubText }: ListOptions<Row>,
  yieldTurn: () => Promise<void>,
): Promise<Result<Answer, Refusal>> {
  const page = await buildPage(
    {
      ...walk,
      filterOptions: filter,
      filterView: filterView ?? asItIs,
      render: stubText ?? ((row) => JSON.stringify(stub(row))),
      wholeCharsMax: LIMITS.wholeListCharsMax,
    },
    query,
    slicesOf(yieldTurn),
  )
  if (!page.ok) return page
  const { items, nextToken, rest } = page.value
  return ok(rest === undefined ? jsonItems(items, nextToken) : jsonBatches(items, rest))
}

function asItIs(row: unknown): unknown {
  return row
}
