import type { NamespaceCapability } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Table, Tables } from '../../state/index.ts'

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
export function* keysWithPrefix(
  table: Pick<Table<object>, 'keys'>,
  prefix: string,
): Generator<string> {
  for (const key of table.keys(prefix)) {
    if (!key.startsWith(prefix)) return
    yield key
  }
}
