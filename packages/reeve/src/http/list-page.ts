import { compileFilter, type Filter, type FilterOptions } from '../lang/filter/index.ts'
import { err, ok, type Result } from '../kit/result.ts'
import type { SliceOptions } from '../kit/slices.ts'
import { LIMITS, refusal, type Refusal } from '../model/index.ts'

/** What every paginated list takes (reference §3). */
export interface PageQuery {
  readonly per_page?: number | undefined
  readonly next_token?: string | undefined
  readonly filter?: string | undefined
  readonly reverse?: boolean | undefined
}

/** One list in its order. */
export interface ListSource<T> {
  /** From the token on (inclusive). Walked only until control goes back to the event loop. */
  readonly walk: (from: string | undefined, reverse: boolean) => Iterable<T>
  readonly tokenOf: (row: T) => string
  /**
   * Rows the caller may not see are left out here and not by the walk: to pass over a million of
   * them takes as many turns as to show them.
   */
  readonly isVisible?: (row: T) => boolean
  /** Reference §3.5: filters see the full object, not the stub. */
  readonly filterView: (row: T) => unknown
  readonly filterOptions: FilterOptions
  readonly render: (row: T) => string
}

export interface Page {
  /** The items, each as JSON text. */
  readonly items: readonly string[]
  /** Token of the first item of the next page; undefined on the last. */
  readonly nextToken: string | undefined
}

/**
 * Builds one page in slices, so that a list of a million rows delays nobody. Slices end by time: a
 * row with a costly filter takes a thousand times as long as another.
 */
export async function buildPage<T>(
  source: ListSource<T>,
  query: PageQuery,
  slices: SliceOptions,
): Promise<Result<Page, Refusal>> {
  const filter = compile(query.filter, source.filterOptions)
  if (!filter.ok) return filter
  const size = pageSize(query.per_page)
  if (!size.ok) return size
  const items: string[] = []
  let nextToken: string | undefined
  const walk = {
    from: query.next_token === '' ? undefined : query.next_token,
    reverse: query.reverse ?? false,
    filter: filter.value,
    take: (row: T): boolean => {
      if (items.length === size.value) nextToken = source.tokenOf(row)
      else items.push(source.render(row))
      return nextToken === undefined
    },
  }
  const walked = await walkRows(source, walk, slices)
  return walked.ok ? ok({ items, nextToken }) : walked
}

/** How many rows there are, in slices too; nothing is rendered. */
export async function countRows<T>(
  source: Omit<ListSource<T>, 'render'>,
  filterText: string | undefined,
  slices: SliceOptions,
): Promise<Result<number, Refusal>> {
  const filter = compile(filterText, source.filterOptions)
  if (!filter.ok) return filter
  let count = 0
  const take = (): boolean => {
    count++
    return true
  }
  const walk = { from: undefined, reverse: false, filter: filter.value, take }
  const walked = await walkRows(source, walk, slices)
  return walked.ok ? ok(count) : walked
}

/** All rows that pass the filter, in slices. */
export async function collectRows<T>(
  source: Omit<ListSource<T>, 'render'>,
  filterText: string | undefined,
  slices: SliceOptions,
): Promise<Result<readonly T[], Refusal>> {
  const filter = compile(filterText, source.filterOptions)
  if (!filter.ok) return filter
  const rows: T[] = []
  const take = (row: T): boolean => rows.push(row) > 0
  const walk = { from: undefined, reverse: false, filter: filter.value, take }
  const walked = await walkRows(source, walk, slices)
  return walked.ok ? ok(rows) : walked
}

/** Whether a row passes a filter, for writes that name rows by one. */
export function rowFilter(
  text: string,
  options: FilterOptions,
): Result<(row: unknown) => Result<boolean, Refusal>, Refusal> {
  const filter = compile(text, options)
  if (!filter.ok) return filter
  const compiled = filter.value
  return ok((row) => {
    const matches = compiled?.matches(row) ?? ok(true)
    return matches.ok
      ? ok(matches.value)
      : invalid(`failed to read result page: ${matches.error.message}`)
  })
}

interface RowWalk<T> {
  readonly from: string | undefined
  readonly reverse: boolean
  readonly filter: Filter | undefined
  /** Called with each row that passes; false ends the walk. */
  readonly take: (row: T) => boolean
}

/** Walks the rows that pass, slice by slice: rows may change between two slices. */
async function walkRows<T>(
  source: Omit<ListSource<T>, 'render'>,
  walk: RowWalk<T>,
  { nextTurn, monotonicMs, sliceMs }: SliceOptions,
): Promise<Result<void, Refusal>> {
  let { from } = walk
  for (;;) {
    const sliceEndMs = monotonicMs() + sliceMs
    const slice = walkSlice(source, { ...walk, from }, () => monotonicMs() >= sliceEndMs)
    if (!slice.ok) return slice
    from = slice.value
    if (from === undefined) return ok(undefined)
    await nextTurn()
  }
}

/** The token of the row to go on with; undefined at the end. At least one row is examined. */
function walkSlice<T>(
  source: Omit<ListSource<T>, 'render'>,
  { from, reverse, filter, take }: RowWalk<T>,
  isOver: () => boolean,
): Result<string | undefined, Refusal> {
  let isFirst = true
  for (const row of source.walk(from, reverse)) {
    if (!isFirst && isOver()) return ok(source.tokenOf(row))
    isFirst = false
    if (source.isVisible?.(row) === false) continue
    if (filter !== undefined) {
      const matches = filter.matches(source.filterView(row))
      if (!matches.ok) return invalid(`failed to read result page: ${matches.error.message}`)
      if (!matches.value) continue
    }
    if (!take(row)) break
  }
  return ok(undefined)
}

function compile(
  text: string | undefined,
  options: FilterOptions,
): Result<Filter | undefined, Refusal> {
  if (text === undefined || text === '') return ok(undefined)
  const compiled = compileFilter(text, options)
  if (compiled.ok) return compiled
  const prefix = 'failed to create result paginator: failed to read filter expression'
  return invalid(`${prefix}: ${compiled.error.message}`)
}

/** Spec W: Limits. 0 means no pagination. */
function pageSize(perPage: number | undefined): Result<number, Refusal> {
  if (perPage === undefined || perPage === 0) return ok(Number.POSITIVE_INFINITY)
  if (perPage < 0 || perPage > LIMITS.perPageMax)
    return invalid(`per_page must be between 0 and ${LIMITS.perPageMax}`)
  return ok(perPage)
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
