import { ok, type Result } from '@reeve/kit/result.ts'
import type { FilterOptions } from '../../lang/filter/index.ts'
import { LIMITS, type Refusal } from '../../model/index.ts'
import { jsonBatches, jsonItems, type HttpResponse } from '../answer.ts'
import { buildPage, type PageQuery } from '../list-page.ts'
import { sliceOptions } from '../slices.ts'
import type { RowScan } from './walks.ts'

export interface ListOptions<Row> {
  readonly scan: RowScan<Row>
  readonly query: PageQuery
  /** Declared types of the record, for the filter. */
  readonly filter: FilterOptions
  /** Object that filters are evaluated on; the row itself by default. */
  readonly filterView?: (row: Row) => unknown
  /** Item of the list; the row itself by default. */
  readonly stub?: (row: Row) => unknown
  /** Returns the item as JSON where that is cached; rendered each time by default. */
  readonly stubJson?: (row: Row) => string
}

/** Returns one page of a list. A long list without pagination is streamed. */
export async function listResponse<Row>(
  { scan, query, filter, filterView, stub = identity, stubJson }: ListOptions<Row>,
  yieldTurn: () => Promise<void>,
): Promise<Result<HttpResponse, Refusal>> {
  const page = await buildPage(
    {
      ...scan,
      filterOptions: filter,
      filterView: filterView ?? identity,
      render: stubJson ?? ((row) => JSON.stringify(stub(row))),
      inlineCharsMax: LIMITS.wholeListCharsMax,
    },
    query,
    sliceOptions(yieldTurn),
  )
  if (!page.ok) return page
  const { items, nextToken, rest } = page.value
  return ok(rest === undefined ? jsonItems(items, nextToken) : jsonBatches(items, rest))
}

function identity(row: unknown): unknown {
  return row
}
