import { Job, type JobSummary } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { compileFilter, equalityConstraints, fieldTypeFromSchema } from '../../lang/filter/index.ts'
import { jobStub } from '../../model/index.ts'
import { type IndexName, namespacedKey, type Store, type Tables } from '../../state/index.ts'
import type { PageQuery } from '../list-page.ts'
import { type ListOptions, NAMESPACED_KEY_CODEC, type RowScan, SORTED_GROUP_MAX } from './reads.ts'

const JOB_FILTER = { rowType: fieldTypeFromSchema(Job) }

/**
 * Lists the stubs of a walk's jobs, for all jobs or those of a node pool. The walk yields keys: a
 * job is decoded only when it is filtered or shown.
 */
export function jobList(
  { tables }: Store,
  walk: RowScan<string>,
  query: PageQuery & { readonly meta?: boolean | undefined },
): ListOptions<string> {
  const { jobs } = tables
  const withMeta = query.meta ?? false
  const stubJson = (job: Job): string => {
    const summary = tables.job_summaries.find(namespacedKey(job.Namespace, job.ID))
    return withMeta
      ? JSON.stringify(jobStub(job, summary, { withMeta }))
      : cachedStubJson(job, summary)
  }
  return {
    scan: walk,
    query,
    filter: JOB_FILTER,
    filterView: (key) => jobs.get(key),
    stubJson: (key) => stubJson(jobs.get(key)),
  }
}

interface JobSelection {
  /** Node pool; all jobs unless given. */
  readonly pool?: string
  /** Namespace, or `*` for all. */
  readonly namespace: string
  readonly prefix: string
  readonly filter: string | undefined
  readonly mayList: (namespace: string) => boolean
}

/**
 * Walks the keys of the jobs that may be on a list, by namespace and ID. Where the filter requires
 * a field to have one value, jobs with other values are skipped by an index. The list still applies
 * the whole filter to every remaining job.
 */
export function scanJobs({ tables }: Store, selection: JobSelection): RowScan<string> {
  const { namespace, prefix, mayList } = selection
  const hint = requiredValues(selection.filter)
  const onlyNamespace = namespace === '*' ? hint.get('Namespace') : namespace
  const low = onlyNamespace === undefined ? '' : namespacedKey(onlyNamespace, prefix)
  const groups = requiredGroups(selection, hint, onlyNamespace)
  const isSelected = (key: string): boolean => {
    const { namespace: jobNamespace, id } = splitJobKey(key)
    if (!id.startsWith(prefix) || (namespace === '*' && !mayList(jobNamespace))) return false
    return groups.every(([index, group]) => tables.jobs.indexKeyOf(index, key) === group)
  }
  const candidates = candidateKeys(tables, hint, { only: onlyNamespace, groups })
  return {
    scan: (from, reverse) => {
      const start = from === undefined ? undefined : NAMESPACED_KEY_CODEC.toKey(from)
      if (candidates === undefined) return keyRange(tables, { prefix: low, start, reverse })
      const keys = candidates().filter(
        (key) =>
          key.startsWith(low) && (start === undefined || (reverse ? key <= start : key >= start)),
      )
      return keys.toSorted(reverse ? (a, b) => compareText(b, a) : compareText)
    },
    tokenOf: NAMESPACED_KEY_CODEC.fromKey,
    isVisible: isSelected,
  }
}

type Hint = ReadonlyMap<string, string>
type Group = readonly [index: IndexName<'jobs'>, indexKey: string]

/** Returns the fields that a filter requires. An invalid filter is rejected by the list. */
function requiredValues(filter: string | undefined): Hint {
  const compiled = compileFilter(filter ?? '', JOB_FILTER)
  return compiled.ok ? equalityConstraints(compiled.value) : new Map()
}

/** Returns the groups that a job must be in. */
function requiredGroups(
  { pool }: JobSelection,
  hint: Hint,
  only: string | undefined,
): readonly Group[] {
  const groups: Group[] = pool === undefined ? [] : [['pool', pool]]
  for (const [field, index] of Object.entries(INDEX_OF_FIELD)) {
    const value = hint.get(field)
    if (value !== undefined) groups.push([index, value])
  }
  const parent = hint.get('ParentID')
  // Jobs without a parent are in no group.
  if (parent !== undefined && parent !== '' && only !== undefined)
    groups.push(['parent', namespacedKey(only, parent)])
  return groups
}

/** Fields of a job that have a group index. */
const INDEX_OF_FIELD = { NodePool: 'pool', Type: 'type', Status: 'status' } as const

interface CandidateScope {
  /** The only namespace of the list, if it has one. */
  readonly only: string | undefined
  readonly groups: readonly Group[]
}

/** Returns the keys of all candidates, unless there are too many to sort for every slice. */
function candidateKeys(
  { jobs, namespaces }: Tables,
  hint: Hint,
  { only, groups }: CandidateScope,
): (() => readonly string[]) | undefined {
  const id = hint.get('ID')
  const name = hint.get('Name')
  const withId = (one: string): readonly string[] =>
    (only === undefined ? [...namespaces.keys()] : [only])
      .map((namespace) => namespacedKey(namespace, one))
      .filter((key) => jobs.has(key))
  if (id !== undefined) return () => withId(id)
  // Most jobs have their ID as name, so the index contains only the others.
  if (name !== undefined) return () => [...withId(name), ...jobs.keysByIndex('renamed', name)]
  const [smallest] = groups.toSorted((a, b) => jobs.countByIndex(...a) - jobs.countByIndex(...b))
  if (smallest === undefined || jobs.countByIndex(...smallest) > SORTED_GROUP_MAX) return undefined
  return () => [...jobs.keysByIndex(...smallest)]
}

interface KeyRange {
  /** Prefix of the keys. */
  readonly prefix: string
  readonly start: string | undefined
  readonly reverse: boolean
}

/** Sorts after every key with the same prefix. */
const KEY_SUFFIX_MAX = '\uffff'

function* keyRange({ jobs }: Tables, { prefix, start, reverse }: KeyRange): Generator<string> {
  const first = reverse
    ? (start ?? prefix + KEY_SUFFIX_MAX)
    : start !== undefined && start > prefix
      ? start
      : prefix
  for (const key of jobs.keys(first, reverse)) {
    if (reverse ? key < prefix : !key.startsWith(prefix)) return
    if (key.startsWith(prefix)) yield key
  }
}

/** Splits a key. Names of namespaces have no `!`. */
function splitJobKey(key: string): { readonly namespace: string; readonly id: string } {
  const end = key.indexOf('!')
  return { namespace: key.slice(0, end), id: key.slice(end + 1) }
}

interface CachedStub {
  readonly summary: JobSummary | undefined
  readonly json: string
}

/**
 * Rendered stubs by decoded row. Lists are requested repeatedly and most jobs are unchanged; a
 * changed row is a new object. An entry is dropped with its decoded row, of which at most
 * `decodedCacheSize` are cached.
 */
const stubCache = new WeakMap<Job, CachedStub>()

function cachedStubJson(job: Job, summary: JobSummary | undefined): string {
  const cached = stubCache.get(job)
  if (cached !== undefined && cached.summary === summary) return cached.json
  const text = JSON.stringify(jobStub(job, summary))
  stubCache.set(job, { summary, json: text })
  return text
}
