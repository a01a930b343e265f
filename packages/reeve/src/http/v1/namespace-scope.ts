import type { NamespaceCapability } from '@reeve/contract'
import type { Caller, Grants } from '../../acl/index.ts'
import type { NamespacedTable, NamespaceScope, NamespaceSet, Store } from '../../state/index.ts'
import type { WatchedRead } from './endpoint.ts'

/** A permission by which a caller sees rows of a namespace, with a unique name. */
export interface NamespacePermission {
  readonly name: string
  readonly isGranted: (grants: Grants, namespace: string) => boolean
}

/** Returns the permission to see the rows of a namespace by a capability in it. */
function capabilityPermission(capability: NamespaceCapability): NamespacePermission {
  return {
    name: capability,
    isGranted: (grants, namespace) => grants.allows(namespace, capability),
  }
}

export const READ_JOB = capabilityPermission('read-job')
export const LIST_JOBS = capabilityPermission('list-jobs')

interface ScopedRequest {
  readonly caller: Caller
  readonly namespace: string
}

/**
 * Returns the namespaces of a list: the one that its request names, or with `*` all that the caller
 * may see.
 */
export function requestScope({ caller, namespace }: ScopedRequest, right: NamespacePermission) {
  return namespace === '*' ? permittedScope(caller, right) : namespaceScope(namespace)
}

/** Returns the scope of one namespace. */
export function namespaceScope(namespace: string): NamespaceScope {
  return { kind: 'one', namespace }
}

/** Returns the namespace of a row whose key begins with it. */
export function keyScope(key: string): NamespaceScope {
  return namespaceScope(key.slice(0, key.indexOf('!')))
}

/** Returns every namespace in which the caller has the permission. */
export function permittedScope({ grants }: Caller, right: NamespacePermission): NamespaceScope {
  if (grants.isManagement) return EVERY_NAMESPACE
  const sets = cachedSets.get(grants) ?? new Map<string, NamespaceSet>()
  cachedSets.set(grants, sets)
  const set: NamespaceSet = sets.get(right.name) ?? {
    kind: 'some',
    covers: (namespace) => right.isGranted(grants, namespace),
  }
  sets.set(right.name, set)
  return set
}

const EVERY_NAMESPACE: NamespaceScope = { kind: 'every' }

/**
 * One set for all requests with the same grants, so that values derived from the set can be cached
 * with it.
 */
const cachedSets = new WeakMap<Grants, Map<string, NamespaceSet>>()

/** Returns the watch for the next write to one of the tables in these namespaces. */
export function watchTables(
  store: Store,
  tables: readonly NamespacedTable[],
  scope: NamespaceScope,
): Pick<WatchedRead, 'index' | 'watch'> {
  return {
    index: () => Math.max(...tables.map((table) => store.indexIn(table, scope))),
    watch: tables.map((table) => ({ table, scope })),
  }
}
