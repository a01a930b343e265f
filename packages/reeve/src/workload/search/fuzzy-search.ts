import { FUZZY_CONTEXTS, type FuzzyMatch } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { LIMITS, PERMISSION_DENIED, refusal, type Refusal } from '../../model/index.ts'
import type { Table } from '../../state/index.ts'
import { inSlices, type WorkOrigin } from '../work-origin.ts'
import { ALL_CONTEXTS, CONTEXTS, isOneContext, type OneContext } from './contexts.ts'
import {
  FUZZY_SOURCES,
  mayHold,
  needleOf,
  positionIn,
  type AnyContext,
  type Candidate,
  type FuzzySource,
  type Needle,
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
  const contexts = openContexts(scope, request.context)
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
  const tally = new Tally(contexts.value)
  const sources = FUZZY_SOURCES.filter((one) => one.contexts.some((name) => wanted.has(name)))
  const needle = needleOf(text)
  const byId = contexts.value.filter(isSearchedById)
  await inSlices(
    (function* walkAll() {
      for (const source of sources) yield* walkTable(scope, source, { needle, tally })
      for (const context of byId) {
        tally.addIds(context, takeMatches(scope, context, text))
        yield
      }
    })(),
    request.origin,
  )
  const tables = [
    ...sources.map((source) => source.table),
    ...byId.flatMap((context) => CONTEXTS[context].tables),
  ]
  return ok({ ...tally.result(), tables })
}

const ALL: readonly AnyContext[] = [...ALL_CONTEXTS, ...FUZZY_CONTEXTS]

function openContexts(scope: SearchScope, context: string): Result<readonly AnyContext[], Refusal> {
  const one = ALL.find((name) => name === context)
  if (one === undefined && context !== '' && context !== 'all')
    return err(unknownContext(context, ALL))
  const open = (one === undefined ? ALL : [one]).filter((name) => isOpen(scope, name))
  return open.length === 0 ? err(PERMISSION_DENIED) : ok(open)
}

function isOpen(scope: SearchScope, context: AnyContext): boolean {
  const source = FUZZY_SOURCES.find((one) => one.contexts.includes(context))
  if (source !== undefined) return source.isOpen(scope)
  return isOneContext(context) && CONTEXTS[context].isOpen(scope)
}

function isSearchedById(context: AnyContext): context is OneContext {
  return isOneContext(context) && !FUZZY_SOURCES.some((one) => one.contexts.includes(context))
}

interface WalkOptions {
  readonly needle: Needle
  readonly tally: Tally
}

/** Scans one table, one row per step. */
function* walkTable(scope: SearchScope, source: FuzzySource, options: WalkOptions): Steps<void> {
  const table = scope.tables[source.table]
  let examined = 0
  for (const range of source.ranges(scope))
    for (const key of stableKeys(table, range)) {
      if (examined++ === LIMITS.fuzzyRowsMax) return options.tally.truncate(source.contexts)
      look(scope, key, source, options)
      yield
    }
}

/** Keys are read in batches: rows may be added and deleted between two steps. */
const KEYS_PER_BATCH = 500

function* stableKeys(table: Pick<Table<object>, 'keys' | 'has'>, range: string): Generator<string> {
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

function look(
  scope: SearchScope,
  key: string,
  { table, isInScope, candidates }: FuzzySource,
  { needle, tally }: WalkOptions,
): void {
  if (!isInScope(scope, key) || !mayHold(scope.tables[table], key, needle)) return
  for (const candidate of candidates(scope, key)) {
    const at = positionIn(candidate, needle)
    if (at !== -1) tally.add(candidate, at)
  }
}

interface Ranked extends Candidate {
  readonly at: number
}

/** The matches of each context, ranked at the end. */
class Tally {
  readonly #found: ReadonlyMap<string, Ranked[]>
  readonly #ids = new Map<string, readonly string[]>()
  readonly #truncated = new Set<string>()

  constructor(contexts: readonly AnyContext[]) {
    this.#found = new Map(contexts.map((context) => [context, []]))
  }

  add(candidate: Candidate, at: number): void {
    const found = this.#found.get(candidate.context)
    if (found === undefined) return
    if (found.length === LIMITS.fuzzyCandidatesMax) this.#truncated.add(candidate.context)
    else found.push({ ...candidate, at })
  }

  addIds(
    context: OneContext,
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
    for (const [context, found] of this.#found) {
      const ids = (this.#ids.get(context) ?? []).map((ID) => ({ ID, Scope: null }))
      // Nested objects occur many times per row, so their limit is higher.
      const max = isOneContext(context) ? LIMITS.fuzzyObjectsMax : LIMITS.fuzzyResultsMax
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
function byRank(a: Ranked, b: Ranked): number {
  return (
    a.at - b.at ||
    a.name.length - b.name.length ||
    compareText(a.name, b.name) ||
    compareText((a.scope ?? []).join('\n'), (b.scope ?? []).join('\n'))
  )
}
