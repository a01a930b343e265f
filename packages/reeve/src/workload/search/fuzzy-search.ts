import { FUZZY_CONTEXTS, type FuzzyMatch } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import type { Table } from '../../state/index.ts'
import { inSlices, type WorkOrigin } from '../work-origin.ts'
import { ALL_CONTEXTS, CONTEXTS, isObjectContext, type ObjectContext } from './contexts.ts'
import {
  FUZZY_SOURCES,
  mayContain,
  toSearchTerm,
  matchPosition,
  type AnyContext,
  type Candidate,
  type FuzzySource,
  type SearchTerm,
} from './fuzzy-sources.ts'
import { takeMatches, unknownContext, type SearchResult } from './prefix-search.ts'
import type { SearchScope } from './scope.ts'

export interface FuzzyRequest {
  readonly text: string
  readonly context: string
  readonly origin: WorkOrigin
}

/**
 * Finds objects whose name contains a text, ignoring case, best matches first. Scans a limited
 * number of rows of each table, in slices, and reports when there may be more.
 */
export async function searchFuzzy(
  scope: SearchScope,
  request: FuzzyRequest,
): Promise<Result<SearchResult<FuzzyMatch>, Refusal>> {
  const { text } = request
  const contexts = selectContexts(scope, request.context)
  if (!contexts.ok) return contexts
  const length = encodeUtf8(text).length
  const { fuzzyTextCharsMin: min } = LIMITS
  if (length < min)
    return err(
      refusal(
        'invalid-input',
        `fuzzy search query must be at least ${min} characters, got ${length}`,
      ),
    )
  const wanted = new Set(contexts.value)
  const collector = new MatchCollector(contexts.value)
  const sources = FUZZY_SOURCES.filter((one) => one.contexts.some((name) => wanted.has(name)))
  const term = toSearchTerm(text)
  const byId = contexts.value.filter(isSearchedById)
  await inSlices(
    (function* walkAll() {
      for (const source of sources) yield* scanTable(scope, source, { term, collector })
      for (const context of byId) {
        collector.addIds(context, takeMatches(scope, context, text))
        yield
      }
    })(),
    request.origin,
  )
  const tables = [
    ...sources.map((source) => source.table),
    ...byId.flatMap((context) => CONTEXTS[context].tables),
  ]
  return ok({ ...collector.result(), tables })
}

const ALL_FUZZY_CONTEXTS: readonly AnyContext[] = [...ALL_CONTEXTS, ...FUZZY_CONTEXTS]

function selectContexts(
  scope: SearchScope,
  context: string,
): Result<readonly AnyContext[], Refusal> {
  const one = ALL_FUZZY_CONTEXTS.find((name) => name === context)
  if (one === undefined && context !== '' && context !== 'all')
    return err(unknownContext(context, ALL_FUZZY_CONTEXTS))
  const open = (one === undefined ? ALL_FUZZY_CONTEXTS : [one]).filter((name) =>
    isPermitted(scope, name),
  )
  return open.length === 0 ? err(PERMISSION_DENIED) : ok(open)
}

function isPermitted(scope: SearchScope, context: AnyContext): boolean {
  const source = FUZZY_SOURCES.find((one) => one.contexts.includes(context))
  if (source !== undefined) return source.isPermitted(scope)
  return isObjectContext(context) && CONTEXTS[context].isPermitted(scope)
}

function isSearchedById(context: AnyContext): context is ObjectContext {
  return isObjectContext(context) && !FUZZY_SOURCES.some((one) => one.contexts.includes(context))
}

interface ScanOptions {
  readonly term: SearchTerm
  readonly collector: MatchCollector
}

/** Scans one table, one row per step. */
function* scanTable(scope: SearchScope, source: FuzzySource, options: ScanOptions): Steps<void> {
  const table = scope.tables[source.table]
  let examined = 0
  for (const range of source.ranges(scope))
    for (const key of keysInBatches(table, range)) {
      if (examined++ === LIMITS.fuzzyRowsMax) return options.collector.truncate(source.contexts)
      collectMatches(scope, key, source, options)
      yield
    }
}

/** Keys are read in batches: rows may be added and deleted between two steps. */
const KEYS_PER_BATCH = 500

function* keysInBatches(
  table: Pick<Table<object>, 'keys' | 'has'>,
  range: string,
): Generator<string> {
  let from: string | undefined = range
  while (from !== undefined) {
    const batch: string[] = []
    let next: string | undefined
    for (const key of table.keys(from)) {
      if (!key.startsWith(range)) break
      if (batch.length === KEYS_PER_BATCH) {
        next = key
        break
      }
      batch.push(key)
    }
    for (const key of batch) if (table.has(key)) yield key
    from = next
  }
}

function collectMatches(
  scope: SearchScope,
  key: string,
  { table, isInScope, candidates }: FuzzySource,
  { term, collector }: ScanOptions,
): void {
  if (!isInScope(scope, key) || !mayContain(scope.tables[table], key, term)) return
  for (const candidate of candidates(scope, key)) {
    const position = matchPosition(candidate, term)
    if (position !== -1) collector.add(candidate, position)
  }
}

interface RankedCandidate extends Candidate {
  readonly position: number
}

/** The matches of each context, ranked at the end. */
class MatchCollector {
  readonly #candidates: ReadonlyMap<string, RankedCandidate[]>
  readonly #ids = new Map<string, readonly string[]>()
  readonly #truncated = new Set<string>()

  constructor(contexts: readonly AnyContext[]) {
    this.#candidates = new Map(contexts.map((context) => [context, []]))
  }

  add(candidate: Candidate, at: number): void {
    const found = this.#candidates.get(candidate.context)
    if (found === undefined) return
    if (found.length === LIMITS.fuzzyCandidatesMax) this.#truncated.add(candidate.context)
    else found.push({ ...candidate, position: at })
  }

  addIds(
    context: ObjectContext,
    {
      matches,
      isTruncated,
    }: { readonly matches: readonly string[]; readonly isTruncated: boolean },
  ): void {
    this.#ids.set(context, matches)
    if (isTruncated) this.#truncated.add(context)
  }

  truncate(contexts: readonly AnyContext[]): void {
    for (const context of contexts) this.#truncated.add(context)
  }

  result(): Omit<SearchResult<FuzzyMatch>, 'tables'> {
    const matches = new Map<string, readonly FuzzyMatch[]>()
    const truncations = new Map<string, boolean>()
    for (const [context, found] of this.#candidates) {
      const ids = (this.#ids.get(context) ?? []).map((ID) => ({ ID, Scope: null }))
      // Nested objects occur many times per row, so their limit is higher.
      const max = isObjectContext(context) ? LIMITS.fuzzyObjectsMax : LIMITS.fuzzyResultsMax
      const named = found.toSorted(byRank).slice(0, max)
      matches.set(context, [
        ...ids,
        ...named.map(({ name, scope }) => ({ ID: name, Scope: scope })),
      ])
      truncations.set(context, this.#truncated.has(context) || found.length > max)
    }
    return { matches, truncations }
  }
}

/** Ranks by position of the match, then by shorter name, then by a total order. */
function byRank(a: RankedCandidate, b: RankedCandidate): number {
  return (
    a.position - b.position ||
    a.name.length - b.name.length ||
    compareText(a.name, b.name) ||
    compareText((a.scope ?? []).join('\n'), (b.scope ?? []).join('\n'))
  )
}
