import { Job, type JobSummary } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { compileFilter, equalityHint, fieldKindsFromSchema } from '../../lang/filter/index.ts'
import { jobStub } from '../../model/index.ts'
import { namespacedKey, type Store, type Tables } from '../../state/index.ts'
import type { PageQuery } from '../list-page.ts'
import type { ListOptions } from './list-answer.ts'
import { NAMESPACED_TOKEN, SORTED_GROUP_MAX, type Walk } from './walks.ts'

const JOB_FILTER = { kinds: fieldKindsFromSchema(Job) }

/**
 * Lists the stubs of a walk's jobs, for all jobs or those of a node pool. The walk yields keys: a
 * job is decoded only when it is filtered or shown.
 */
export function jobList(
  { tables }: Store,
  walk: Walk<string>,
  query: PageQuery & { readonly meta?: boolean | undefined },
): ListOptions<string> {
  const { jobs } = tables
  const withMeta = query.meta ?? false
  const textOf = (job: Job): string => {
    const summary = tables.job_summaries.find(namespacedKey(job.Namespace, job.ID))
    return withMeta ? JSON.stringify(jobStub(job, summary, { withMeta })) : stubText(job, summary)
  }
  return {
    walk,
    query,
    filter: JOB_FILTER,
    filterView: (key) => jobs.get(key),
    stubText: (key) => textOf(jobs.get(key)),
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
export function walkJobs({ tables }: Store, selection: JobSelection): Walk<string> {
  const { namespace, prefix, mayList } = selection
  const hint = hintOf(selection.filter)
  const only = namespace === '*' ? hint.get('Namespace') : namespace
  const low = only === undefined ? '' : namespacedKey(only, prefix)
  const groups = groupsOf(selection, hint, only)
  const isWanted = (key: string): boolean => {
    const { namespace: own, id } = partsOf(key)
    if (!id.startsWith(prefix) || (namespace === '*' && !mayList(own))) return false
    return groups.every(([index, group]) => tables.jobs.groupOf(index, key) === group)
  }
  const few = fewKeys(tables, hint, { only, groups })
  return {
    walk: (from, reverse) => {
      const start = from === undefined ? undefined : NAMESPACED_TOKEN.toKey(from)
      if (few === undefined) return keysFrom(tables, { prefix: low, start, reverse })
      const keys = few().filter(
        (key) =>
          key.startsWith(low) && (start === undefined || (reverse ? key <= start : key >= start)),
      )
      return keys.toSorted(reverse ? (a, b) => compareText(b, a) : compareText)
    },
    tokenOf: NAMESPACED_TOKEN.fromKey,
    isVisible: isWanted,
  }
}

type Hint = ReadonlyMap<string, string>
type Group = readonly [index: string, group: string]

/** Returns the fields that a filter requires. An invalid filter is rejected by the list. */
function hintOf(filter: string | undefined): Hint {
  const compiled = compileFilter(filter ?? '', JOB_FILTER)
  return compiled.ok ? equalityHint(compiled.value) : new Map()
}

/** Returns the groups that a job must be in. */
function groupsOf({ pool }: JobSelection, hint: Hint, only: string | undefined): readonly Group[] {
  const groups: Group[] = pool === undefined ? [] : [['pool', pool]]
  for (const [field, index] of Object.entries(INDEX_OF)) {
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
const INDEX_OF = { NodePool: 'pool', Type: 'type', Status: 'status' } as const

interface Narrowing {
  /** The only namespace of the list, if it has one. */
  readonly only: string | undefined
  readonly groups: readonly Group[]
}

/** Returns the keys of all candidates, unless there are too many to sort for every slice. */
function fewKeys(
  { jobs, namespaces }: Tables,
  hint: Hint,
  { only, groups }: Narrowing,
): (() => readonly string[]) | undefined {
  const id = hint.get('ID')
  const name = hint.get('Name')
  const withId = (one: string): readonly string[] =>
    (only === undefined ? [...namespaces.keys()] : [only])
      .map((namespace) => namespacedKey(namespace, one))
      .filter((key) => jobs.has(key))
  if (id !== undefined) return () => withId(id)
  // Most jobs have their ID as name, so the index contains only the others.
  if (name !== undefined) return () => [...withId(name), ...jobs.keysIn('renamed', name)]
  const [smallest] = groups.toSorted((a, b) => jobs.countIn(...a) - jobs.countIn(...b))
  if (smallest === undefined || jobs.countIn(...smallest) > SORTED_GROUP_MAX) return undefined
  return () => [...jobs.keysIn(...smallest)]
}

interface KeyRange {
  /** Prefix of the keys. */
  readonly prefix: string
  readonly start: string | undefined
  readonly reverse: boolean
}

/** Above every key with the same prefix. */
const ABOVE = '\uffff'

function* keysFrom({ jobs }: Tables, { prefix, start, reverse }: KeyRange): Generator<string> {
  const first = reverse
    ? (start ?? prefix + ABOVE)
    : start !== undefined && start > prefix
      ? start
      : prefix
  for (const key of jobs.keys(first, reverse)) {
    if (reverse ? key < prefix : !key.startsWith(prefix)) return
    if (key.startsWith(prefix)) yield key
  }
}

/** Splits a key. Names of namespaces have no `!`. */
function partsOf(key: string): { readonly namespace: string; readonly id: string } {
  const end = key.indexOf('!')
  return { namespace: key.slice(0, end), id: key.slice(end + 1) }
}

interface ToldStub {
  readonly summary: JobSummary | undefined
  readonly text: string
}

/**
 * Rendered stubs by decoded row. Lists are requested repeatedly and most jobs are unchanged; a
 * changed row is a new object. An entry is dropped with its decoded row, of which at most
 * `decodedRowsMax` are cached.
 */
const toldStubs = new WeakMap<Job, ToldStub>()

function stubText(job: Job, summary: JobSummary | undefined): string {
  const told = toldStubs.get(job)
  if (told !== undefined && told.summary === summary) return told.text
  const text = JSON.stringify(jobStub(job, summary))
  toldStubs.set(job, { summary, text })
  return text
}
