import { compareText } from '@reeve/kit/sorted-list.ts'
import { runInSlices, type Steps } from '@reeve/kit/slices.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { Refusal } from '../../model/index.ts'
import type { Table } from '../../state/index.ts'
import { jsonItems, type HttpResponse } from '../answer.ts'
import { sliceOptions } from '../slices.ts'

/** Groups up to this size are rendered in one tick, which takes a millisecond at most. */
const UNSLICED_ROWS_MAX = 64

export interface IndexGroupQuery<Row> {
  readonly index: string
  readonly group: string
  /** Renders a row as JSON; undefined omits it. */
  readonly renderJson: (row: Row) => string | undefined
}

/**
 * Returns all rows of a group, sorted by key. A job may have 50,000 allocations, so large groups
 * are read in slices.
 */
export function groupResponse<Row extends object>(
  table: Table<Row>,
  query: IndexGroupQuery<Row>,
  yieldTurn: () => Promise<void>,
): Result<HttpResponse, Refusal> | Promise<Result<HttpResponse, Refusal>> {
  const { index, group, renderJson } = query
  if (table.countByIndex(index, group) > UNSLICED_ROWS_MAX)
    return respondInSlices(table, query, yieldTurn)
  return ok(jsonItems(table.rowsByIndex(index, group).flatMap((row) => renderJson(row) ?? [])))
}

async function respondInSlices<Row extends object>(
  table: Table<Row>,
  query: IndexGroupQuery<Row>,
  yieldTurn: () => Promise<void>,
): Promise<Result<HttpResponse, Refusal>> {
  return ok(jsonItems(await runInSlices(renderItems(table, query), sliceOptions(yieldTurn))))
}

function* renderItems<Row extends object>(
  table: Table<Row>,
  { index, group, renderJson }: IndexGroupQuery<Row>,
): Steps<readonly string[]> {
  const items: string[] = []
  for (const key of [...table.keysByIndex(index, group)].toSorted(compareText)) {
    // The row may have been deleted since the keys were read.
    const row = table.find(key)
    const item = row === undefined ? undefined : renderJson(row)
    if (item !== undefined) items.push(item)
    yield
  }
  return items
}
