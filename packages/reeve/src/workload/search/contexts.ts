import type { NamespaceCapability, SearchContext } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Caller } from '../../acl/index.ts'
import { looseUuidPrefix } from '../../model/index.ts'
import { namespacedKey, type Table, type TableName, type Tables } from '../../state/index.ts'

/** Every context but `all`. */
export type ObjectContext = Exclude<SearchContext, 'all'>

/** A kind of object that a prefix search covers. */
interface ContextSource {
  /** Reports whether the caller may search this context. */
  readonly isPermitted: (scope: SearchScope) => boolean
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
function jobOwnedSource(
  table: OwnedTable,
  ...capabilities: readonly NamespaceCapability[]
): ContextSource {
  return {
    isPermitted: (scope) => hasCapability(scope, ...capabilities),
    tables: [table],
    *find(scope, prefix) {
      const low = looseUuidPrefix(prefix)
      if (low === undefined) return
      const rows = scope.tables[table]
      for (const id of keysWithPrefix(rows, low))
        yield isInScope(scope, capabilities, rows.indexKeyOf('job', id)) ? id : undefined
    },
  }
}

const jobs: ContextSource = {
  isPermitted: (scope) => hasCapability(scope, 'read-job'),
  tables: ['jobs'],
  *find(scope, prefix) {
    for (const namespace of namespacesOf(scope, 'read-job'))
      for (const key of keysWithPrefix(scope.tables.jobs, namespacedKey(namespace, prefix)))
        yield key.slice(namespace.length + 1)
  },
}

const nodes: ContextSource = {
  isPermitted: ({ caller }) => caller.grants.node('read'),
  tables: ['nodes'],
  find({ tables }, prefix) {
    const low = looseUuidPrefix(prefix)
    return low === undefined ? [] : keysWithPrefix(tables.nodes, low)
  },
}

const nodePools: ContextSource = {
  isPermitted: ({ caller }) => caller.grants.allowsAnyNodePool('read'),
  tables: ['node_pools'],
  *find({ tables, caller }, prefix) {
    for (const name of keysWithPrefix(tables.node_pools, prefix))
      yield caller.grants.nodePool(name, 'read') ? name : undefined
  },
}

const namespaces: ContextSource = {
  isPermitted: canSeeAnyNamespace,
  tables: ['namespaces'],
  *find({ tables, caller }, prefix) {
    for (const name of keysWithPrefix(tables.namespaces, prefix))
      yield caller.grants.canSeeNamespace(name) ? name : undefined
  },
}

/** By path; permission is checked for each variable. */
const vars: ContextSource = {
  isPermitted: ({ caller, namespace }) => caller.grants.allowsAnyVariable(namespace, 'list'),
  tables: ['variables'],
  *find({ tables, caller, namespace }, prefix) {
    const names = namespace === '*' ? [...tables.namespaces.keys()] : [namespace]
    for (const name of names)
      for (const key of keysWithPrefix(tables.variables, namespacedKey(name, prefix))) {
        const path = key.slice(name.length + 1)
        yield caller.grants.variable(name, path, 'list') ? path : undefined
      }
  },
}

/** Returns a context for objects that do not exist here: it is accepted and always empty. */
function emptySource(isOpen: ContextSource['isPermitted']): ContextSource {
  return { isPermitted: isOpen, tables: [], find: () => [] }
}

/** Sources by context. Add a line for each searchable table. */
export const CONTEXTS: Readonly<Record<ObjectContext, ContextSource>> = {
  jobs,
  evals: jobOwnedSource('evaluations', 'read-job'),
  allocs: jobOwnedSource('allocations', 'read-job'),
  nodes,
  node_pools: nodePools,
  deployment: jobOwnedSource('deployments', 'read-job'),
  namespaces,
  scaling_policy: jobOwnedSource('scaling_policies', 'list-scaling-policies', 'read-job'),
  plugins: emptySource(({ caller }) => caller.grants.plugin('list')),
  volumes: emptySource((scope) => hasCapability(scope, 'csi-list-volume', 'csi-read-volume')),
  host_volumes: emptySource((scope) => hasCapability(scope, 'host-volume-read')),
  vars,
  quotas: emptySource(({ caller }) => caller.grants.quota('read')),
  recommendations: emptySource((scope) => hasCapability(scope, 'read-job')),
}

// The keys of the table above are all contexts.
export const ALL_CONTEXTS = Object.keys(CONTEXTS) as readonly ObjectContext[]

export function isObjectContext(text: string): text is ObjectContext {
  return Object.hasOwn(CONTEXTS, text)
}

/** The caller of a search, and the namespaces searched. */
export interface SearchScope {
  readonly tables: Tables
  readonly caller: Caller
  /** One namespace, or `*` for all that the caller may read. */
  readonly namespace: string
}

/** Reports whether the caller has one of the capabilities in the searched namespaces. */
export function hasCapability(
  { caller, namespace }: SearchScope,
  ...capabilities: readonly NamespaceCapability[]
): boolean {
  return capabilities.some((capability) =>
    namespace === '*'
      ? caller.grants.allowsInAnyNamespace(capability)
      : caller.grants.allows(namespace, capability),
  )
}

/**
 * Reports whether the caller may see any namespace; namespaces are not in a namespace themselves.
 */
export function canSeeAnyNamespace({ caller, tables }: SearchScope): boolean {
  return [...tables.namespaces.keys()].some((name) => caller.grants.canSeeNamespace(name))
}

/** Returns the existing namespaces that are searched. */
export function namespacesOf(
  { tables, caller, namespace }: SearchScope,
  capability: NamespaceCapability,
): readonly string[] {
  const all = namespace === '*' ? [...tables.namespaces.keys()] : [namespace]
  return all.filter((one) => caller.grants.allows(one, capability)).toSorted(compareText)
}

/** Reports whether a row of a job is in a searched namespace, without decoding the row. */
export function isInScope(
  { caller, namespace }: SearchScope,
  capabilities: readonly NamespaceCapability[],
  jobKey: string | undefined,
): boolean {
  const rowNamespace = jobKey?.slice(0, jobKey.indexOf('!'))
  if (rowNamespace === undefined) return false
  if (namespace !== '*') return rowNamespace === namespace
  return capabilities.some((capability) => caller.grants.allows(rowNamespace, capability))
}

/** Yields the keys of a table with a prefix, in order. */
function* keysWithPrefix(table: Pick<Table<object>, 'keys'>, prefix: string): Generator<string> {
  for (const key of table.keys(prefix)) {
    if (!key.startsWith(prefix)) return
    yield key
  }
}
