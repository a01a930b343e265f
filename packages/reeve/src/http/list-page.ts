import { compileFilter, type Filter, type FilterOptions } from '../lang/filter/index.ts'
import { ok, type Result } from '@reeve/kit/result.ts'
import type { SliceOptions } from '@reeve/kit/slices.ts'
import { LIMITS, type Refusal, invalidInput } from '../model/index.ts'
import type { WorkOrigin } from '../workload/index.ts'

/** Query parameters of every paginated list. */
export interface PageQuery {
  readonly per_page?: number | undefined
  readonly next_token?: string | undefined
  readonly filter?: string | undefined
  readonly reverse?: boolean | undefined
}

/** A list in its sort order. */
interface ListSource<T> {
  /**
   * Scans the rows from the token on (inclusive). The iterator is only used until control returns
   * to the event loop.
   */
  readonly scan: (from: string | undefined, reverse: boolean) => Iterable<T>
  readonly tokenOf: (row: T) => string
  /**
   * Filters rows that the caller may not see. Not done by the scan: a million hidden rows must
   * yield to other requests like a million visible ones.
   */
  readonly isVisible?: (row: T) => boolean
  /** The object that filters are evaluated on: the full object, not the stub. */
  readonly filterView: (row: T) => unknown
  readonly filterOptions: FilterOptions
  readonly render: (row: T) => string
  /** Length of an unpaginated list above which it is streamed. */
  readonly inlineCharsMax?: number
}

interface Page {
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
  const filter = compileRowFilter(query.filter, source.filterOptions)
  if (!filter.ok) return filter
  const size = parsePageSize(query.per_page)
  if (!size.ok) return size
  const reverse = query.reverse ?? false
  const page = new PageItems(source, { size: size.value, isFiltered: filter.value !== undefined })
  const scanOptions = {
    from: query.next_token === '' ? undefined : query.next_token,
    reverse,
    filter: filter.value,
    take: (row: T) => page.take(row),
    skip: (row: T) => page.skip(row),
  }
  const scanned = await scanRows(source, scanOptions, slices)
  if (!scanned.ok) return scanned
  const { items, end, isComplete } = page
  if (isComplete || end === undefined) return ok({ items, nextToken: end })
  const rest = (): AsyncIterable<readonly string[]> =>
    readBatches(source, { from: end, reverse }, slices)
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
    this.#charsMax = (isStreamed ? source.inlineCharsMax : undefined) ?? Number.POSITIVE_INFINITY
  }

  /** Reports whether the list ends with the page. */
  get isComplete(): boolean {
    return this.#chars < this.#charsMax
  }

  /** Adds a row; false if the page was full. */
  take(row: T): boolean {
    if (this.items.length === this.#size || !this.isComplete) return this.#endAt(row)
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
    return this.#endAt(row)
  }

  #endAt(row: T): false {
    this.end = this.#source.tokenOf(row)
    return false
  }
}

/** Yields the rows from a token on as items, one batch for each slice. */
async function* readBatches<T>(
  source: ListSource<T>,
  { from, reverse }: { readonly from: string; readonly reverse: boolean },
  { nextTurn, monotonicMs, sliceMs }: SliceOptions,
): AsyncGenerator<readonly string[]> {
  for (let next: string | undefined = from; next !== undefined;) {
    await nextTurn()
    const items: string[] = []
    const take = (row: T): boolean => items.push(source.render(row)) > 0
    const sliceEndMs = monotonicMs() + sliceMs
    const scanOptions: RowScanOptions<T> = { from: next, reverse, filter: undefined, take }
    const slice: Result<string | undefined, Refusal> = scanSlice(
      source,
      scanOptions,
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
  const filter = compileRowFilter(filterText, source.filterOptions)
  if (!filter.ok) return filter
  let count = 0
  const take = (): boolean => {
    count++
    return true
  }
  const scanOptions = { from: undefined, reverse: false, filter: filter.value, take }
  const scanned = await scanRows(source, scanOptions, slices)
  return scanned.ok ? ok(count) : scanned
}

/** Returns all rows that pass the filter, collected in slices. */
export async function collectRows<T>(
  source: Omit<ListSource<T>, 'render'>,
  filterText: string | undefined,
  slices: SliceOptions,
): Promise<Result<readonly T[], Refusal>> {
  const filter = compileRowFilter(filterText, source.filterOptions)
  if (!filter.ok) return filter
  const rows: T[] = []
  const take = (row: T): boolean => rows.push(row) > 0
  const scanOptions = { from: undefined, reverse: false, filter: filter.value, take }
  const scanned = await scanRows(source, scanOptions, slices)
  return scanned.ok ? ok(rows) : scanned
}

/** Returns the predicate of a filter, for writes that select rows by one. */
export function rowFilter(
  text: string,
  options: FilterOptions,
): Result<(row: unknown) => Result<boolean, Refusal>, Refusal> {
  const filter = compileRowFilter(text, options)
  if (!filter.ok) return filter
  const compiled = filter.value
  return ok((row) => {
    const matches = compiled?.matches(row) ?? ok(true)
    return matches.ok
      ? ok(matches.value)
      : invalidInput(`failed to read result page: ${matches.error.message}`)
  })
}

interface RowScanOptions<T> {
  readonly from: string | undefined
  readonly reverse: boolean
  readonly filter: Filter | undefined
  /** Called with each row that passes; returns false to end the scan. */
  readonly take: (row: T) => boolean
  /** Called with each row that the filter rejects; returns false to end the scan. */
  readonly skip?: (row: T) => boolean
}

/** Scans the rows that pass, in slices: rows may change between two slices. */
async function scanRows<T>(
  source: Omit<ListSource<T>, 'render'>,
  options: RowScanOptions<T>,
  { nextTurn, monotonicMs, sliceMs }: SliceOptions,
): Promise<Result<void, Refusal>> {
  let { from } = options
  for (;;) {
    const sliceEndMs = monotonicMs() + sliceMs
    const slice = scanSlice(source, { ...options, from }, () => monotonicMs() >= sliceEndMs)
    if (!slice.ok) return slice
    from = slice.value
    if (from === undefined) return ok(undefined)
    await nextTurn()
  }
}

/**
 * Scans one slice. Returns the token of the next row; undefined at the end. Examines at least one
 * row.
 */
function scanSlice<T>(
  source: Omit<ListSource<T>, 'render'>,
  { from, reverse, filter, take, skip }: RowScanOptions<T>,
  isSliceOver: () => boolean,
): Result<string | undefined, Refusal> {
  let isFirst = true
  for (const row of source.scan(from, reverse)) {
    if (!isFirst && isSliceOver()) return ok(source.tokenOf(row))
    isFirst = false
    if (source.isVisible?.(row) === false) continue
    if (filter !== undefined) {
      const matches = filter.matches(source.filterView(row))
      if (!matches.ok) return invalidInput(`failed to read result page: ${matches.error.message}`)
      if (!matches.value) {
        if (skip?.(row) === false) break
        continue
      }
    }
    if (!take(row)) break
  }
  return ok(undefined)
}

function compileRowFilter(
  text: string | undefined,
  options: FilterOptions,
): Result<Filter | undefined, Refusal> {
  if (text === undefined || text === '') return ok(undefined)
  const compiled = compileFilter(text, options)
  if (compiled.ok) return compiled
  const prefix = 'failed to create result paginator: failed to read filter expression'
  return invalidInput(`${prefix}: ${compiled.error.message}`)
}

/** Returns the page size; 0 means no pagination. */
function parsePageSize(perPage: number | undefined): Result<number, Refusal> {
  if (perPage === undefined || perPage === 0) return ok(Number.POSITIVE_INFINITY)
  if (perPage < 0 || perPage > LIMITS.perPageMax)
    return invalidInput(`per_page must be between 0 and ${LIMITS.perPageMax}`)
  return ok(perPage)
}

/** Options of work in slices: how long a response is computed before other requests get a turn. */
export function sliceOptions(yieldTurn: () => Promise<void>): SliceOptions {
  return {
    nextTurn: yieldTurn,
    monotonicMs: () => performance.now(),
    sliceMs: LIMITS.sliceMsMax,
  }
}

interface ScheduledRequest {
  readonly tenant: string
  readonly yieldTurn: () => Promise<void>
  readonly signal: () => AbortSignal
}

/** Returns the tenant of a request, its turns on the event loop, and its cancellation. */
export function workOrigin({ tenant, yieldTurn, signal }: ScheduledRequest): WorkOrigin {
  return { tenant, nextTurn: yieldTurn, signal: signal() }
}

/**
 * Encodes a page token for a header. Tokens contain names with any characters, and a header holds
 * printable ASCII: other bytes and `%` are percent-encoded. The token of a plain name is that name.
 */
export function encodePageToken(token: string): string {
  return token.toWellFormed().replace(/[^!-~]|%/gu, (character) => encodeURIComponent(character))
}

/**
 * Decodes a page token. Text that `encodePageToken` has not encoded, such as a name typed by hand,
 * is returned unchanged.
 */
export function decodePageToken(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (thrown) {
    if (thrown instanceof URIError) return text
    throw thrown
  }
}
