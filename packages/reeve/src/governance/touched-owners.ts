import { put, type Change, type Tables } from '../state/index.ts'

/**
 * Rewrites the parent project, workspace or policy set of changed child rows in the same commit, so
 * that the parent emits an event: a changed tag is a change of its project.
 */
export function touchedOwners(tables: Tables, changes: readonly Change[]): readonly Change[] {
  const written = new Set(changes.map((change) => `${change.table} ${idOf(change)}`))
  const touched = new Map<string, Change>()
  for (const change of changes) {
    const owner = ownerOf(tables, change)
    if (owner === undefined) continue
    const name = `${owner.table} ${owner.id}`
    if (written.has(name) || touched.has(name)) continue
    const again = writtenAgain(tables, owner)
    if (again !== undefined) touched.set(name, again)
  }
  return [...touched.values()]
}

interface Owner {
  readonly table: 'projects' | 'workspaces' | 'policy_sets'
  readonly id: string
}

function ownerOf(tables: Tables, change: Change): Owner | undefined {
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

function writtenAgain(tables: Tables, { table, id }: Owner): Change | undefined {
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
function idOf(change: Change): string {
  if (change.row === undefined) return change.key
  const id: unknown = Reflect.get(change.row, 'id')
  return typeof id === 'string' ? id : ''
}
