import {
  type Cause,
  type Change,
  type CommitAuthor,
  type CommitResult,
  put,
  type Stamp,
  type Store,
  type Tables,
} from '../state/index.ts'

/** One write of the governance API, which is one commit. */
interface GovernanceWrite {
  readonly caller: { readonly by: CommitAuthor }
  /** Null for site-wide objects. */
  readonly organizationId: string | null
  /** IDs of the written objects. */
  readonly affectedIds: readonly string[]
  readonly changes: readonly Change[]
  readonly blobs?: readonly BlobChange[]
}

interface BlobChange {
  readonly key: string
  readonly bytes: Uint8Array | undefined
}

/**
 * Commits a write and resolves when it is durable. A write without changes makes no commit and no
 * event (PATCH). The event stream includes every changed governance record; `affectedIds` are the
 * objects of the audit record.
 */
export async function commitWrite(
  { store }: { readonly store: Store },
  { caller, changes, blobs, organizationId, affectedIds }: GovernanceWrite,
): Promise<Stamp> {
  const { index, timeMs, durable } = store.commit({
    by: caller.by,
    cause: GOVERNANCE_CAUSE,
    changes: () => [...changes, ...touchParents(store.tables, changes)],
    ...(blobs === undefined ? {} : { blobs }),
    auditSubject: { organizationId, resourceIds: affectedIds },
  })
  await durable
  return { index, timeMs }
}

/** Changes that the server makes by itself, such as the steps of a run. */
interface SystemWrite {
  readonly changes: readonly Change[] | ((stamp: Stamp) => readonly Change[])
  readonly blobs?: readonly BlobChange[]
  /** False for changes that readers of the event stream need not know, such as parts of uploads. */
  readonly emitsEvents: boolean
}

/**
 * Commits changes without a caller. Like every write of governance, so that parents of changed rows
 * emit their events too. The result is durable when its `durable` resolves.
 */
export function commitSystemWrite(
  { store }: { readonly store: Store },
  { changes, blobs, emitsEvents }: SystemWrite,
): CommitResult {
  return store.commit({
    by: 'system',
    cause: emitsEvents ? GOVERNANCE_CAUSE : undefined,
    changes: (stamp) => {
      const own = typeof changes === 'function' ? changes(stamp) : changes
      return emitsEvents ? [...own, ...touchParents(store.tables, own)] : own
    },
    ...(blobs === undefined ? {} : { blobs }),
  })
}

/**
 * Cause of commits whose event types are derived from the changed rows, so any governance cause
 * will do.
 */
const GOVERNANCE_CAUSE: Cause = 'OrganizationUpdated'

/**
 * Rewrites the parent project, workspace or policy set of changed child rows in the same commit, so
 * that the parent emits an event: a changed tag is a change of its project.
 */
function touchParents(tables: Tables, changes: readonly Change[]): readonly Change[] {
  const writtenKeys = new Set(changes.map((change) => `${change.table} ${recordId(change)}`))
  const parents = new Map<string, Change>()
  for (const change of changes) {
    const parent = parentOf(tables, change)
    if (parent === undefined) continue
    const key = `${parent.table} ${parent.id}`
    if (writtenKeys.has(key) || parents.has(key)) continue
    const rewritten = rewriteChange(tables, parent)
    if (rewritten !== undefined) parents.set(key, rewritten)
  }
  return [...parents.values()]
}

interface ParentRef {
  readonly table: 'projects' | 'workspaces' | 'policy_sets'
  readonly id: string
}

function parentOf(tables: Tables, change: Change): ParentRef | undefined {
  switch (change.table) {
    case 'tag_bindings': {
      const tag = change.row ?? tables.tag_bindings.find(change.key)
      if (tag === undefined) return undefined
      const table = tag.ownerType === 'project' ? 'projects' : 'workspaces'
      return { table, id: tag.ownerId }
    }
    case 'project_namespaces': {
      const row = change.row ?? tables.project_namespaces.find(change.key)
      return row === undefined ? undefined : { table: 'projects', id: row.projectId }
    }
    case 'policy_set_members':
    case 'policy_set_parameters':
    case 'policy_set_versions': {
      const row = change.row ?? tables[change.table].find(change.key)
      return row === undefined ? undefined : { table: 'policy_sets', id: row.policySetId }
    }
    default:
      return undefined
  }
}

function rewriteChange(tables: Tables, { table, id }: ParentRef): Change | undefined {
  switch (table) {
    case 'projects': {
      const row = tables.projects.find(id)
      return row && put('projects', row)
    }
    case 'workspaces': {
      const row = tables.workspaces.find(id)
      return row && put('workspaces', row)
    }
    case 'policy_sets': {
      const row = tables.policy_sets.find(id)
      return row && put('policy_sets', row)
    }
  }
}

/** Returns the ID of a governance record; for a deletion the key, which is the same. */
function recordId(change: Change): string {
  if (change.row === undefined) return change.key
  const id: unknown = Reflect.get(change.row, 'id')
  return typeof id === 'string' ? id : ''
}
