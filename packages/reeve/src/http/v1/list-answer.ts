import { ok, type Result } from '../../kit/result.ts'
import type { FilterOptions } from '../../lang/filter/index.ts'
import type { Refusal } from '../../model/index.ts'
import { jsonItems, type Answer } from '../answer.ts'
import { buildPage, type PageQuery } from '../list-page.ts'
import { slicesOf } from '../slices.ts'
import type { Walk } from './walks.ts'

export interface ListOptions<Row> {
  readonly walk: Walk<Row>
  readonly query: PageQuery
  /** The record's declared types, for the filter. */
  readonly filter: FilterOptions
  /** Reference §3.5: filters see the full object. The row itself unless given. */
  readonly filterView?: (row: Row) => unknown
  /** The item as the list shows it. */
  readonly stub: (row: Row) => unknown
  /** The JSON text of that, where it is kept; it is made anew unless given. */
  readonly stubText?: (row: Row) => string
}

/** One page of a list, as every list route answers. */
export async function listAnswer<Row>(
  options: ListOptions<Row>,
  yieldTurn: () => Promise<void>,
): Promise<Result<Answer, Refusal>> {
  const page = await buildPage(
    {
      ...options.walk,
      filterOptions: options.filter,
      filterView: options.filterView ?? ((row) => row),
      render: options.stubText ?? ((row) => JSON.stringify(options.stub(row))),
    },
    options.query,
    slicesOf(yieldTurn),
  )
  return page.ok ? ok(jsonItems(page.value.items, page.value.nextToken)) : page
}
