import type { FuzzyContext, Job, Task } from '@reeve/contract'
import { looseUuidPrefix } from '../../model/index.ts'
import { namespacedKey, type Table } from '../../state/index.ts'
import type { OneContext } from './contexts.ts'
import { holds, isInScope, namespacesOf, seesNamespaces, type SearchScope } from './scope.ts'

export type AnyContext = OneContext | FuzzyContext

/** A name that may hold the text. */
export interface Candidate {
  readonly context: AnyContext
  readonly name: string
  /** Where it is: namespace, job, group, task; or the id of the node. */
  readonly scope: readonly string[] | null
  /** An id that may be given in place of the name, by its beginning. */
  readonly id?: string
}

/** A table whose rows have names in them. */
export interface FuzzySource {
  readonly table: 'jobs' | 'nodes' | 'allocations' | 'namespaces' | 'node_pools'
  readonly contexts: readonly AnyContext[]
  readonly isOpen: (scope: SearchScope) => boolean
  /** Beginnings of the keys that are looked at. */
  readonly ranges: (scope: SearchScope) => readonly string[]
  /** Whether the row of a key is looked at; asked before the row is decoded. */
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

/** Contexts that are in none of these are searched by the beginning of an id. */
export const FUZZY_SOURCES: readonly FuzzySource[] = [
  jobs,
  nodes,
  allocations,
  namespaces,
  nodePools,
]

/** A text as it is looked for: in any case, in names and in the stored form of rows. */
export interface Needle {
  readonly lower: string
  /** As JSON spells it, so that a row can be passed over without being decoded. */
  readonly encoded: string
  /** Set when ids can begin with it. */
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

/** Whether a row can hold the text at all: far cheaper than decoding it to find that it cannot. */
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

/** Where the text stands in the candidate; −1 when it does not. An id counts by its beginning. */
export function positionIn({ name, id }: Candidate, needle: Needle): number {
  const at = name.toLowerCase().indexOf(needle.lower)
  if (at !== -1 || id === undefined || needle.idPrefix === undefined) return at
  return id.startsWith(needle.idPrefix) ? 0 : -1
}
