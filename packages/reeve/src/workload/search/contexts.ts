import type { NamespaceCapability, SearchContext } from '@reeve/contract'
import { looseUuidPrefix } from '../../model/index.ts'
import { namespacedKey, type TableName } from '../../state/index.ts'
import {
  holds,
  isInScope,
  keysFrom,
  namespacesOf,
  seesNamespaces,
  type SearchScope,
} from './scope.ts'

/** Every context but `all`. */
export type OneContext = Exclude<SearchContext, 'all'>

/** A kind of object that a prefix search covers. */
export interface ContextSource {
  /** Reports whether the caller may search this context. */
  readonly isOpen: (scope: SearchScope) => boolean
  /** Tables of the matches, which determine the index of the response. */
  readonly tables: readonly TableName[]
  /**
   * Yields the matches in order. Undefined stands for a hidden match, so that the consumer can
   * count and stop.
   */
  readonly find: (scope: SearchScope, prefix: string) => Iterable<string | undefined>
}

type OwnedTable = 'evaluations' | 'allocations' | 'deployments' | 'scaling_policies'

/**
 * Returns the source for rows that belong to a job and have a UUID; any of the capabilities permits
 * it.
 */
function ownedByJob(
  table: OwnedTable,
  ...capabilities: readonly NamespaceCapability[]
): ContextSource {
  return {
    isOpen: (scope) => holds(scope, ...capabilities),
    tables: [table],
    *find(scope, prefix) {
      const low = looseUuidPrefix(prefix)
      if (low === undefined) return
      const rows = scope.tables[table]
      for (const id of keysFrom(rows, low))
        yield isInScope(scope, capabilities, rows.groupOf('job', id)) ? id : undefined
    },
  }
}

const jobs: ContextSource = {
  isOpen: (scope) => holds(scope, 'read-job'),
  tables: ['jobs'],
  *find(scope, prefix) {
    for (const namespace of namespacesOf(scope, 'read-job'))
      for (const key of keysFrom(scope.tables.jobs, namespacedKey(namespace, prefix)))
        yield key.slice(namespace.length + 1)
  },
}

const nodes: ContextSource = {
  isOpen: ({ caller }) => caller.grants.node('read'),
  tables: ['nodes'],
  find({ tables }, prefix) {
    const low = looseUuidPrefix(prefix)
    return low === undefined ? [] : keysFrom(tables.nodes, low)
  },
}

const nodePools: ContextSource = {
  isOpen: ({ caller }) => caller.grants.nodePoolSomewhere('read'),
  tables: ['node_pools'],
  *find({ tables, caller }, prefix) {
    for (const name of keysFrom(tables.node_pools, prefix))
      yield caller.grants.nodePool(name, 'read') ? name : undefined
  },
}

const namespaces: ContextSource = {
  isOpen: seesNamespaces,
  tables: ['namespaces'],
  *find({ tables, caller }, prefix) {
    for (const name of keysFrom(tables.namespaces, prefix))
      yield caller.grants.seesNamespace(name) ? name : undefined
  },
}

/** By path; permission is checked for each variable. */
const vars: ContextSource = {
  isOpen: ({ caller, namespace }) => caller.grants.variableSomewhere(namespace, 'list'),
  tables: ['variables'],
  *find({ tables, caller, namespace }, prefix) {
    const names = namespace === '*' ? [...tables.namespaces.keys()] : [namespace]
    for (const name of names)
      for (const key of keysFrom(tables.variables, namespacedKey(name, prefix))) {
        const path = key.slice(name.length + 1)
        yield caller.grants.variable(name, path, 'list') ? path : undefined
      }
  },
}

/** Returns a context for objects that do not exist here: it is accepted and always empty. */
function nothing(isOpen: ContextSource['isOpen']): ContextSource {
  return { isOpen, tables: [], find: () => [] }
}

/** Sources by context. Add a line for each searchable table. */
export const CONTEXTS: Readonly<Record<OneContext, ContextSource>> = {
  jobs,
  evals: ownedByJob('evaluations', 'read-job'),
  allocs: ownedByJob('allocations', 'read-job'),
  nodes,
  node_pools: nodePools,
  deployment: ownedByJob('deployments', 'read-job'),
  namespaces,
  scaling_policy: ownedByJob('scaling_policies', 'list-scaling-policies', 'read-job'),
  plugins: nothing(({ caller }) => caller.grants.plugin('list')),
  volumes: nothing((scope) => holds(scope, 'csi-list-volume', 'csi-read-volume')),
  host_volumes: nothing((scope) => holds(scope, 'host-volume-read')),
  vars,
  quotas: nothing(({ caller }) => caller.grants.quota('read')),
  recommendations: nothing((scope) => holds(scope, 'read-job')),
}

// The keys of the table above are all contexts.
export const ALL_CONTEXTS = Object.keys(CONTEXTS) as readonly OneContext[]

export function isOneContext(text: string): text is OneContext {
  return Object.hasOwn(CONTEXTS, text)
}
