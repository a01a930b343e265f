import {
  FUZZY_CONTEXTS,
  type FuzzyContext,
  type FuzzyMatch,
  type Job,
  type Task,
} from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { Steps } from '@reeve/kit/slices.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import {
  LIMITS,
  looseUuidPrefix,
  PERMISSION_DENIED,
  refusal,
  type Refusal,
} from '../../model/index.ts'
import { namespacedKey, type Table } from '../../state/index.ts'
import { inSlices, type WorkOrigin } from '../context.ts'
import {
  ALL_CONTEXTS,
  canSeeAnyNamespace,
  CONTEXTS,
  hasCapability,
  isInScope,
  isObjectContext,
  namespacesOf,
  type ObjectContext,
  type SearchScope,
} from './contexts.ts'
import { takeMatches, unknownContext, type SearchResult } from './prefix-search.ts'

interface FuzzyRequest {
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
  source: FuzzySource,
  { term, collector }: ScanOptions,
): void {
  const { table, candidates } = source
  if (!source.isInScope(scope, key) || !mayContain(scope.tables[table], key, term)) return
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

type AnyContext = ObjectContext | FuzzyContext

/** A name to be matched. */
interface Candidate {
  readonly context: AnyContext
  readonly name: string
  /** Location: namespace, job, group, task; or the ID of the node. */
  readonly scope: readonly string[] | null
  /** An ID that matches by prefix as well. */
  readonly id?: string
}

/** A table whose rows contain names. */
interface FuzzySource {
  readonly table: 'jobs' | 'nodes' | 'allocations' | 'namespaces' | 'node_pools'
  readonly contexts: readonly AnyContext[]
  readonly isPermitted: (scope: SearchScope) => boolean
  /** Prefixes of the keys to be scanned. */
  readonly ranges: (scope: SearchScope) => readonly string[]
  /** Reports whether the row of a key is scanned; called before the row is decoded. */
  readonly isInScope: (scope: SearchScope, key: string) => boolean
  readonly candidates: (scope: SearchScope, key: string) => Iterable<Candidate>
}

const ALL_KEYS = ['']

const jobs: FuzzySource = {
  table: 'jobs',
  contexts: ['jobs', 'groups', 'services', 'tasks', 'images', 'commands'],
  isPermitted: (scope) => hasCapability(scope, 'read-job'),
  ranges: (scope) => namespacesOf(scope, 'read-job').map((name) => namespacedKey(name, '')),
  isInScope: () => true,
  candidates: ({ tables }, key) => jobCandidates(tables.jobs.get(key)),
}

function* jobCandidates(job: Job): Generator<Candidate> {
  const own = [job.Namespace, job.ID]
  yield { context: 'jobs', name: job.Name, scope: own }
  if (job.Name !== job.ID) yield { context: 'jobs', name: job.ID, scope: own }
  for (const group of job.TaskGroups) {
    yield { context: 'groups', name: group.Name, scope: own }
    const inGroup = [...own, group.Name]
    for (const service of group.Services ?? [])
      yield { context: 'services', name: service.Name, scope: inGroup }
    for (const task of group.Tasks) yield* taskCandidates(task, inGroup)
  }
}

function* taskCandidates(task: Task, inGroup: readonly string[]): Generator<Candidate> {
  yield { context: 'tasks', name: task.Name, scope: inGroup }
  const inTask = [...inGroup, task.Name]
  for (const service of task.Services ?? [])
    yield { context: 'services', name: service.Name, scope: inTask }
  const { image, command } = task.Config ?? {}
  if (typeof image === 'string') yield { context: 'images', name: image, scope: inTask }
  if (typeof command === 'string') yield { context: 'commands', name: command, scope: inTask }
}

const nodes: FuzzySource = {
  table: 'nodes',
  contexts: ['nodes', 'classes'],
  isPermitted: ({ caller }) => caller.grants.node('read'),
  ranges: () => ALL_KEYS,
  isInScope: () => true,
  *candidates({ tables }, key) {
    const { ID: id, Name: name, NodeClass } = tables.nodes.get(key)
    yield { context: 'nodes', name, scope: [id], id }
    if (NodeClass !== '') yield { context: 'classes', name: NodeClass, scope: [id] }
  },
}

const allocations: FuzzySource = {
  table: 'allocations',
  contexts: ['allocs'],
  isPermitted: (scope) => hasCapability(scope, 'read-job'),
  ranges: () => ALL_KEYS,
  isInScope: (scope, key) =>
    isInScope(scope, ['read-job'], scope.tables.allocations.indexKeyOf('job', key)),
  *candidates({ tables }, key) {
    const { ID: id, Name: name, Namespace } = tables.allocations.get(key)
    yield { context: 'allocs', name, scope: [Namespace, id], id }
  },
}

const namespaces: FuzzySource = {
  table: 'namespaces',
  contexts: ['namespaces'],
  isPermitted: canSeeAnyNamespace,
  ranges: () => ALL_KEYS,
  isInScope: ({ caller }, key) => caller.grants.canSeeNamespace(key),
  candidates: (_scope, name) => [{ context: 'namespaces', name, scope: null }],
}

const nodePools: FuzzySource = {
  table: 'node_pools',
  contexts: ['node_pools'],
  isPermitted: ({ caller }) => caller.grants.allowsAnyNodePool('read'),
  ranges: () => ALL_KEYS,
  isInScope: ({ caller }, key) => caller.grants.nodePool(key, 'read'),
  candidates: (_scope, name) => [{ context: 'node_pools', name, scope: null }],
}

/** Sources by table; contexts in none of these are searched by ID prefix. */
const FUZZY_SOURCES: readonly FuzzySource[] = [jobs, nodes, allocations, namespaces, nodePools]

/** The search text in the forms used for comparison: for names, and for the stored text of rows. */
interface SearchTerm {
  readonly lower: string
  /** Encoded as in JSON, so that rows can be skipped without decoding. */
  readonly encoded: string
  /** Set if the text can be the prefix of an ID. */
  readonly idPrefix: string | undefined
}

function toSearchTerm(text: string): SearchTerm {
  const lower = text.toLowerCase()
  return {
    lower,
    encoded: JSON.stringify(lower).slice(1, -1),
    idPrefix: looseUuidPrefix(text),
  }
}

/** Reports whether a row may contain the text: far cheaper than decoding it. */
function mayContain(
  table: Pick<Table<object>, 'rowJsonOf'>,
  key: string,
  term: SearchTerm,
): boolean {
  const body = table.rowJsonOf(key)?.toLowerCase() ?? ''
  return (
    body.includes(term.encoded) || (term.idPrefix !== undefined && key.startsWith(term.idPrefix))
  )
}

/**
 * Returns the position of the text in the candidate; −1 if there is none. An ID matches by prefix.
 */
function matchPosition({ name, id }: Candidate, term: SearchTerm): number {
  const position = name.toLowerCase().indexOf(term.lower)
  if (position !== -1 || id === undefined || term.idPrefix === undefined) return position
  return id.startsWith(term.idPrefix) ? 0 : -1
}
