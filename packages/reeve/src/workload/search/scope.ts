import type { NamespaceCapability } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Table, Tables } from '../../state/index.ts'

/** Who searches, and where. */
export interface SearchScope {
  readonly tables: Tables
  readonly caller: Caller
  /** One namespace, or `*` for all that the caller may read. */
  readonly namespace: string
}

/** Whether the caller holds one of the capabilities where it searches. */
export function holds(
  { caller, namespace }: SearchScope,
  ...capabilities: readonly NamespaceCapability[]
): boolean {
  return capabilities.some((capability) =>
    namespace === '*'
      ? caller.grants.allowsSomewhere(capability)
      : caller.grants.allows(namespace, capability),
  )
}

/** Whether there is a namespace that the caller may see: they lie in none, so it asks from any. */
export function seesNamespaces({ caller, tables }: SearchScope): boolean {
  return [...tables.namespaces.keys()].some((name) => caller.grants.seesNamespace(name))
}

/** The namespaces that are searched, of those that exist. */
export function namespacesOf(
  { tables, caller, namespace }: SearchScope,
  capability: NamespaceCapability,
): readonly string[] {
  const all = namespace === '*' ? [...tables.namespaces.keys()] : [namespace]
  return all.filter((one) => caller.grants.allows(one, capability)).toSorted(compareText)
}

/** Whether a row of a job is in a namespace that is searched; known without decoding the row. */
export function isInScope(
  { caller, namespace }: SearchScope,
  capabilities: readonly NamespaceCapability[],
  jobKey: string | undefined,
): boolean {
  const own = jobKey?.slice(0, jobKey.indexOf('!'))
  if (own === undefined) return false
  if (namespace !== '*') return own === namespace
  return capabilities.some((capability) => caller.grants.allows(own, capability))
}

/** The keys of a table that begin with a text, in order. */
export function* keysFrom(table: Pick<Table<object>, 'keys'>, low: string): Generator<string> {
  for (const key of table.keys(low)) {
    if (!key.startsWith(low)) return
    yield key
  }
}
