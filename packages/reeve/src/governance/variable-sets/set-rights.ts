import type { VariableSetRow } from '../../model/index.ts'
import type { GovernanceContext } from '../context.ts'
import type { Standing } from '../permissions.ts'

export type VariableSetRight = 'read' | 'update'

/** Permissions of a caller on the variable sets of an organization. */
export interface SetReach {
  readonly managesAll: boolean
  /** Projects whose own sets the caller may write. */
  readonly written: ReadonlySet<string>
  /** Projects whose variable sets or variables the caller may read. */
  readonly projects: ReadonlySet<string>
  /** Workspaces whose variables the caller may read. */
  readonly workspaces: ReadonlySet<string>
}

/**
 * Returns the permissions. The cost depends on the accesses of the caller's teams, not on the size
 * of the organization.
 */
export function reachOf({ store }: GovernanceContext, standing: Standing): SetReach {
  const { isOwner, access, teamIds } = standing
  const { team_projects: onProjects, team_workspaces: onWorkspaces } = store.tables
  if (isOwner || access.has('manage-workspaces'))
    return { managesAll: true, written: NONE, projects: NONE, workspaces: NONE }
  const ids = [...teamIds]
  const given = ids.flatMap((id) => onProjects.rowsIn('team', id))
  const single = ids.flatMap((id) => onWorkspaces.rowsIn('team', id))
  return {
    managesAll: false,
    written: new Set(
      given
        .filter(({ projectAccess }) => projectAccess['variable-sets'] === 'write')
        .map(({ projectId }) => projectId),
    ),
    projects: new Set(
      given
        .filter(
          ({ projectAccess, workspaceAccess }) =>
            projectAccess['variable-sets'] !== 'none' || workspaceAccess.variables !== 'none',
        )
        .map(({ projectId }) => projectId),
    ),
    workspaces: new Set(
      single
        .filter(({ values }) => values.variables !== 'none')
        .map(({ workspaceId }) => workspaceId),
    ),
  }
}

const NONE: ReadonlySet<string> = new Set()

type SetOwner = Pick<VariableSetRow, 'projectId'>

/** Sets of the organization require permission to manage all workspaces. */
export function mayWrite({ managesAll, written }: SetReach, { projectId }: SetOwner): boolean {
  return managesAll || (projectId !== null && written.has(projectId))
}

/** Permission to read the variables of a workspace includes the sets that its runs receive. */
export function mayRead(
  { store }: GovernanceContext,
  reach: SetReach,
  set: Pick<VariableSetRow, 'id' | 'projectId' | 'global'>,
): boolean {
  if (mayWrite(reach, set)) return true
  const { projects, workspaces } = reach
  if (projects.size + workspaces.size === 0) return false
  if (set.global || (set.projectId !== null && projects.has(set.projectId))) return true
  const { variable_set_members: members, workspaces: rows } = store.tables
  return members
    .rowsIn('set', set.id)
    .some(({ relation, memberId }) =>
      relation === 'projects'
        ? projects.has(memberId)
        : workspaces.has(memberId) || projects.has(rows.find(memberId)?.projectId ?? ''),
    )
}
