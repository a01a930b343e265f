import { compileFilter, type Filter, type FilterOptions } from '../lang/filter/index.ts'
import { err, ok, type Result } from '../kit/result.ts'
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

/** Rows examined before other requests get their turn: about two milliseconds. */
const ROWS_PER_SLICE = 1_000

/** Builds one page, in slices, so that a list of a million rows stalls nobody. */
export async function buildPage<T>(
  source: ListSource<T>,
  query: PageQuery,
  nextTurn: () => Promise<void>,
): Promise<Result<Page, Refusal>> {
  const filter = compile(query.filter, source.filterOptions)
  if (!filter.ok) return filter
  const size = pageSize(query.per_page)
  if (!size.ok) return size
  const items: string[] = []
  let from = query.next_token === '' ? undefined : query.next_token
  for (;;) {
    const slice = takeSlice(source, {
      from,
      reverse: query.reverse ?? false,
      filter: filter.value,
      // One more than fits: it begins the next page.
      rowsMax: size.value - items.length + 1,
    })
    if (!slice.ok) return slice
    for (const row of slice.value.rows) {
      if (items.length === size.value) return ok({ items, nextToken: source.tokenOf(row) })
      items.push(source.render(row))
    }
    from = slice.value.next
    if (from === undefined) return ok({ items, nextToken: undefined })
    await nextTurn()
  }
}

/** How many rows there are, in slices too; nothing is rendered. */
export async function countRows<T>(
  source: Omit<ListSource<T>, 'render'>,
  filterText: string | undefined,
  nextTurn: () => Promise<void>,
): Promise<Result<number, Refusal>> {
  const filter = compile(filterText, source.filterOptions)
  if (!filter.ok) return filter
  let count = 0
  let from: string | undefined
  for (;;) {
    const options = {
      from,
      reverse: false,
      filter: filter.value,
      rowsMax: Number.POSITIVE_INFINITY,
    }
    const slice = takeSlice(source, options)
    if (!slice.ok) return slice
    count += slice.value.rows.length
    from = slice.value.next
    if (from === undefined) return ok(count)
    await nextTurn()
  }
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

interface SliceOptions {
  readonly from: string | undefined
  readonly reverse: boolean
  readonly filter: Filter | undefined
  readonly rowsMax: number
}

function takeSlice<T>(
  source: Omit<ListSource<T>, 'render'>,
  { from, reverse, filter, rowsMax }: SliceOptions,
): Result<{ rows: T[]; next: string | undefined }, Refusal> {
  const rows: T[] = []
  let examined = 0
  for (const row of source.walk(from, reverse)) {
    if (examined++ === ROWS_PER_SLICE) return ok({ rows, next: source.tokenOf(row) })
    if (source.isVisible?.(row) === false) continue
    if (filter !== undefined) {
      const matches = filter.matches(source.filterView(row))
      if (!matches.ok) return invalid(`failed to read result page: ${matches.error.message}`)
      if (!matches.value) continue
    }
    if (rows.push(row) === rowsMax) break
  }
  return ok({ rows, next: undefined })
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
