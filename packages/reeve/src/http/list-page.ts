import { compileFilter, type Filter, type FilterOptions } from '../lang/filter/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { SliceOptions } from '@reeve/kit/slices.ts'
import { LIMITS, refusal, type Refusal } from '../model/index.ts'

/** Query parameters of every paginated list. */
export interface PageQuery {
  readonly per_page?: number | undefined
  readonly next_token?: string | undefined
  readonly filter?: string | undefined
  readonly reverse?: boolean | undefined
}

/** A list in its sort order. */
export interface ListSource<T> {
  /**
   * Walks the rows from the token on (inclusive). The iterator is only used until control returns
   * to the event loop.
   */
  readonly walk: (from: string | undefined, reverse: boolean) => Iterable<T>
  readonly tokenOf: (row: T) => string
  /**
   * Filters rows that the caller may not see. Not done by the walk: a million hidden rows must
   * yield to other requests like a million visible ones.
   */
  readonly isVisible?: (row: T) => boolean
  /** The object that filters are evaluated on: the full object, not the stub. */
  readonly filterView: (row: T) => unknown
  readonly filterOptions: FilterOptions
  readonly render: (row: T) => string
  /** Length of an unpaginated list above which it is streamed. */
  readonly wholeCharsMax?: number
}

export interface Page {
  /** The items, each as JSON text. */
  readonly items: readonly string[]
  /** Token of the first item of the next page; undefined on the last page. */
  readonly nextToken: string | undefined
  /** The remaining items of a streamed list; each call reads them again. */
  readonly rest?: () => AsyncIterable<readonly string[]>
}

/**
 * Builds one page in slices, so that a list of a million rows delays no other request. Slices end
 * by time: with an expensive filter a row may take a thousand times as long as another. A page also
 * ends, perhaps without an item, when its filter has rejected too many rows.
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
  const reverse = query.reverse ?? false
  const page = new PageItems(source, { size: size.value, isFiltered: filter.value !== undefined })
  const walk = {
    from: query.next_token === '' ? undefined : query.next_token,
    reverse,
    filter: filter.value,
    take: (row: T) => page.take(row),
    skip: (row: T) => page.skip(row),
  }
  const walked = await walkRows(source, walk, slices)
  if (!walked.ok) return walked
  const { items, end, isWhole } = page
  if (isWhole || end === undefined) return ok({ items, nextToken: end })
  const rest = (): AsyncIterable<readonly string[]> =>
    batches(source, { from: end, reverse }, slices)
  return ok({ items, nextToken: undefined, rest })
}

/** The items of a page, and its end. */
class PageItems<T> {
  readonly items: string[] = []
  /** Token of the first row after the page. */
  end: string | undefined
  readonly #source: ListSource<T>
  readonly #size: number
  readonly #charsMax: number
  #chars = 0
  #skipped = 0

  constructor(
    source: ListSource<T>,
    { size, isFiltered }: { readonly size: number; readonly isFiltered: boolean },
  ) {
    this.#source = source
    this.#size = size
    // A filter may fail on any row, which must be known before the response begins, so filtered
    // lists are not streamed.
    const isStreamed = size === Number.POSITIVE_INFINITY && !isFiltered
    this.#charsMax = (isStreamed ? source.wholeCharsMax : undefined) ?? Number.POSITIVE_INFINITY
  }

  /** Reports whether the list ends with the page. */
  get isWhole(): boolean {
    return this.#chars < this.#charsMax
  }

  /** Adds a row; false if the page was full. */
  take(row: T): boolean {
    if (this.items.length === this.#size || !this.isWhole) return this.#cut(row)
    const item = this.#source.render(row)
    this.#chars += item.length
    this.items.push(item)
    return true
  }

  /** Counts a row that the filter rejects; false if there were too many. */
  skip(row: T): boolean {
    if (this.#size === Number.POSITIVE_INFINITY || this.#skipped < LIMITS.filteredRowsMax) {
      this.#skipped++
      return true
    }
    return this.#cut(row)
  }

  #cut(row: T): false {
    this.end = this.#source.tokenOf(row)
    return false
  }
}

/** Yields the rows from a token on as items, one batch for each slice. */
async function* batches<T>(
  source: ListSource<T>,
  { from, reverse }: { readonly from: string; readonly reverse: boolean },
  { nextTurn, monotonicMs, sliceMs }: SliceOptions,
): AsyncGenerator<readonly string[]> {
  for (let next: string | undefined = from; next !== undefined;) {
    await nextTurn()
    const items: string[] = []
    const take = (row: T): boolean => items.push(source.render(row)) > 0
    const sliceEndMs = monotonicMs() + sliceMs
    const walk: RowWalk<T> = { from: next, reverse, filter: undefined, take }
    const slice: Result<string | undefined, Refusal> = walkSlice(
      source,
      walk,
      () => monotonicMs() >= sliceEndMs,
    )
    // Only a filter can fail.
    next = slice.ok ? slice.value : undefined
    if (items.length > 0) yield items
  }
}

/** Counts the rows in slices, without rendering them. */
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

/** Returns all rows that pass the filter, collected in slices. */
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

/** Returns the predicate of a filter, for writes that select rows by one. */
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
  /** Called with each row that passes; returns false to end the walk. */
  readonly take: (row: T) => boolean
  /** Called with each row that the filter rejects; returns false to end the walk. */
  readonly skip?: (row: T) => boolean
}

/** Walks the rows that pass, in slices: rows may change between two slices. */
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

/**
 * Walks one slice. Returns the token of the next row; undefined at the end. Examines at least one
 * row.
 */
function walkSlice<T>(
  source: Omit<ListSource<T>, 'render'>,
  { from, reverse, filter, take, skip }: RowWalk<T>,
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
      if (!matches.value) {
        if (skip?.(row) === false) break
        continue
      }
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

/** Returns the page size; 0 means no pagination. */
function pageSize(perPage: number | undefined): Result<number, Refusal> {
  if (perPage === undefined || perPage === 0) return ok(Number.POSITIVE_INFINITY)
  if (perPage < 0 || perPage > LIMITS.perPageMax)
    return invalid(`per_page must be between 0 and ${LIMITS.perPageMax}`)
  return ok(perPage)
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
