import type { FuzzyContext, Job, Task } from '@reeve/contract'
import { looseUuidPrefix } from '../../model/index.ts'
import { namespacedKey, type Table } from '../../state/index.ts'
import type { OneContext } from './contexts.ts'
import { holds, isInScope, namespacesOf, seesNamespaces, type SearchScope } from './scope.ts'

export type AnyContext = OneContext | FuzzyContext

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
  readonly isOpen: (scope: SearchScope) => boolean
  /** Prefixes of the keys to be scanned. */
  readonly ranges: (scope: SearchScope) => readonly string[]
  /** Reports whether the row of a key is scanned; called before the row is decoded. */
  readonly isInScope: (scope: SearchScope, key: string) => boolean
  readonly candidates: (scope: SearchScope, key: string) => Iterable<Candidate>
}

const EVERYTHING = ['']

const jobs: FuzzySource = {
  table: 'jobs',
  contexts: ['jobs', 'groups', 'services', 'tasks', 'images', 'commands'],
  isOpen: (scope) => holds(scope, 'read-job'),
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
  isOpen: ({ caller }) => caller.grants.node('read'),
  ranges: () => EVERYTHING,
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
  isOpen: (scope) => holds(scope, 'read-job'),
  ranges: () => EVERYTHING,
  isInScope: (scope, key) =>
    isInScope(scope, ['read-job'], scope.tables.allocations.groupOf('job', key)),
  *candidates({ tables }, key) {
    const { ID: id, Name: name, Namespace } = tables.allocations.get(key)
    yield { context: 'allocs', name, scope: [Namespace, id], id }
  },
}

const namespaces: FuzzySource = {
  table: 'namespaces',
  contexts: ['namespaces'],
  isOpen: seesNamespaces,
  ranges: () => EVERYTHING,
  isInScope: ({ caller }, key) => caller.grants.seesNamespace(key),
  candidates: (_scope, name) => [{ context: 'namespaces', name, scope: null }],
}

const nodePools: FuzzySource = {
  table: 'node_pools',
  contexts: ['node_pools'],
  isOpen: ({ caller }) => caller.grants.nodePoolSomewhere('read'),
  ranges: () => EVERYTHING,
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
export interface Needle {
  readonly lower: string
  /** Encoded as in JSON, so that rows can be skipped without decoding. */
  readonly encoded: string
  /** Set if the text can be the prefix of an ID. */
  readonly idPrefix: string | undefined
}

export function needleOf(text: string): Needle {
  const lower = text.toLowerCase()
  return {
    lower,
    encoded: JSON.stringify(lower).slice(1, -1),
    idPrefix: looseUuidPrefix(text),
  }
}

/** Reports whether a row may contain the text: far cheaper than decoding it. */
export function mayHold(
  table: Pick<Table<object>, 'bodyOf'>,
  key: string,
  needle: Needle,
): boolean {
  const body = table.bodyOf(key)?.toLowerCase() ?? ''
  return (
    body.includes(needle.encoded) ||
    (needle.idPrefix !== undefined && key.startsWith(needle.idPrefix))
  )
}

/**
 * Returns the position of the text in the candidate; −1 if there is none. An ID matches by prefix.
 */
export function positionIn({ name, id }: Candidate, needle: Needle): number {
  const at = name.toLowerCase().indexOf(needle.lower)
  if (at !== -1 || id === undefined || needle.idPrefix === undefined) return at
  return id.startsWith(needle.idPrefix) ? 0 : -1
}
