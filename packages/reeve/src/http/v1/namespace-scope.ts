import type { NamespaceCapability } from '@reeve/contract'
import type { Caller, Grants } from '../../acl/index.ts'
import type { NamespacedTable, NamespaceScope, NamespaceSet, Store } from '../../state/index.ts'
import type { ReadPlan } from './endpoint.ts'

/** A right by which a caller sees rows of a namespace, under a name that no other right has. */
export interface NamespaceRight {
  readonly name: string
  readonly isHeld: (grants: Grants, namespace: string) => boolean
}

/** Who holds the capability in a namespace sees its rows. */
function capabilityRight(capability: NamespaceCapability): NamespaceRight {
  return { name: capability, isHeld: (grants, namespace) => grants.allows(namespace, capability) }
}

export const READ_JOB = capabilityRight('read-job')
export const LIST_JOBS = capabilityRight('list-jobs')

interface ScopedRequest {
  readonly caller: Caller
  readonly namespace: string
}

/** The namespaces of a list: the one that its request names, or with `*` all that it may see. */
export function scopeOf({ caller, namespace }: ScopedRequest, right: NamespaceRight) {
  return namespace === '*' ? scopeOfRight(caller, right) : namespaceScope(namespace)
}

/** One namespace. */
export function namespaceScope(namespace: string): NamespaceScope {
  return { kind: 'one', namespace }
}

/** The namespace of a row whose key begins with it. */
export function scopeOfKey(key: string): NamespaceScope {
  return namespaceScope(key.slice(0, key.indexOf('!')))
}

/** Every namespace in which the caller holds the right. */
export function scopeOfRight({ grants }: Caller, right: NamespaceRight): NamespaceScope {
  if (grants.isManagement) return EVERY
  const known = setsOf.get(grants) ?? new Map<string, NamespaceSet>()
  setsOf.set(grants, known)
  const set: NamespaceSet = known.get(right.name) ?? {
    kind: 'some',
    covers: (namespace) => right.isHeld(grants, namespace),
  }
  known.set(right.name, set)
  return set
}

const EVERY: NamespaceScope = { kind: 'every' }

/** The same set for all requests with the same grants: what is derived from it is kept with it. */
const setsOf = new WeakMap<Grants, Map<string, NamespaceSet>>()

/** Waits for the next write to one of the tables in these namespaces, and for no other. */
export function watchTables(
  store: Store,
  tables: readonly NamespacedTable[],
  scope: NamespaceScope,
): Pick<ReadPlan, 'index' | 'watch'> {
  return {
    index: () => Math.max(...tables.map((table) => store.indexIn(table, scope))),
    watch: tables.map((table) => ({ table, scope })),
  }
}
