import type { FuzzyContext, Job, Task } from '@reeve/contract'
import { looseUuidPrefix } from '../../model/index.ts'
import { namespacedKey, type Table } from '../../state/index.ts'
import type { ObjectContext } from './contexts.ts'
import {
  hasCapability,
  isInScope,
  namespacesOf,
  canSeeAnyNamespace,
  type SearchScope,
} from './scope.ts'

export type AnyContext = ObjectContext | FuzzyContext

/** A name to be matched. */
export interface Candidate {
  readonly context: AnyContext
  readonly name: string
  /** Location: namespace, job, group, task; or the ID of the node. */
  readonly scope: readonly string[] | null
  /** An ID that matches by prefix as well. */
  readonly id?: string
}

/** A table whose rows contain names. */
export interface FuzzySource {
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
export const FUZZY_SOURCES: readonly FuzzySource[] = [
  jobs,
  nodes,
  allocations,
  namespaces,
  nodePools,
]

/** The search text in the forms used for comparison: for names, and for the stored text of rows. */
export interface SearchTerm {
  readonly lower: string
  /** Encoded as in JSON, so that rows can be skipped without decoding. */
  readonly encoded: string
  /** Set if the text can be the prefix of an ID. */
  readonly idPrefix: string | undefined
}

export function toSearchTerm(text: string): SearchTerm {
  const lower = text.toLowerCase()
  return {
    lower,
    encoded: JSON.stringify(lower).slice(1, -1),
    idPrefix: looseUuidPrefix(text),
  }
}

/** Reports whether a row may contain the text: far cheaper than decoding it. */
export function mayContain(
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
export function matchPosition({ name, id }: Candidate, term: SearchTerm): number {
  const position = name.toLowerCase().indexOf(term.lower)
  if (position !== -1 || id === undefined || term.idPrefix === undefined) return position
  return id.startsWith(term.idPrefix) ? 0 : -1
}
