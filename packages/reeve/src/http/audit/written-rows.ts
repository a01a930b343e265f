import type { Change, TableName } from '../../state/index.ts'

/**
 * The field that names a row of the tables that writes of `/v1` are about. Rows that follow from a
 * write, such as evaluations, are left out.
 */
const NAMED_BY: { readonly [N in TableName]?: string } = {
  acl_policies: 'Name',
  acl_roles: 'ID',
  acl_tokens: 'AccessorID',
  deployments: 'ID',
  jobs: 'ID',
  namespaces: 'Name',
  node_pools: 'Name',
  nodes: 'ID',
  settings: 'Name',
  variables: 'Path',
}

/**
 * Ids of what a commit of `/v1` writes; what it deletes is named by the path. A job that is
 * registered again as it was is only evaluated: what follows names it then.
 */
export function writtenIds(changes: readonly Change[]): readonly string[] {
  const ids = changes.flatMap((change) => textIn(change, NAMED_BY[change.table]) ?? [])
  if (ids.length > 0) return ids
  return changes.flatMap((one) => (one.table === 'evaluations' ? (textIn(one, 'JobID') ?? []) : []))
}

/** The namespace that a job or variable is in, which its body may say and the query not. */
export function writtenNamespace(changes: readonly Change[]): string | undefined {
  for (const change of changes) {
    const found = NAMED_BY[change.table] === undefined ? undefined : textIn(change, 'Namespace')
    if (found !== undefined) return found
  }
  return undefined
}

function textIn({ row }: Change, field: string | undefined): string | undefined {
  if (row === undefined || field === undefined) return undefined
  const value: unknown = Reflect.get(row, field)
  return typeof value === 'string' && value !== '' ? value : undefined
}
