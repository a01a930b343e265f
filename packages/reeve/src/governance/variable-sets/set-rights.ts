import type { VariableSetRow } from '../../model/index.ts'
import type { GovernanceContext } from '../context.ts'
import type { OrganizationRole } from '../permissions.ts'

export type VariableSetRight = 'read' | 'update'

/** Permissions of a caller on the variable sets of an organization. */
export interface VariableSetAccess {
  readonly managesAll: boolean
  /** Projects whose own sets the caller may write. */
  readonly writableProjects: ReadonlySet<string>
  /** Projects whose variable sets or variables the caller may read. */
  readonly readableProjects: ReadonlySet<string>
  /** Workspaces whose variables the caller may read. */
  readonly readableWorkspaces: ReadonlySet<string>
}

/**
 * Returns the permissions. The cost depends on the accesses of the caller's teams, not on the size
 * of the organization.
 */
export function variableSetAccess(
  { store }: GovernanceContext,
  role: OrganizationRole,
): VariableSetAccess {
  const { isOwner, access, teamIds } = role
  const { team_projects: projectAccesses, team_workspaces: workspaceAccesses } = store.tables
  if (isOwner || access.has('manage-workspaces'))
    return {
      managesAll: true,
      writableProjects: NONE,
      readableProjects: NONE,
      readableWorkspaces: NONE,
    }
  const ids = [...teamIds]
  const ofProjects = ids.flatMap((id) => projectAccesses.rowsByIndex('team', id))
  const ofWorkspaces = ids.flatMap((id) => workspaceAccesses.rowsByIndex('team', id))
  return {
    managesAll: false,
    writableProjects: new Set(
      ofProjects
        .filter(({ projectAccess }) => projectAccess['variable-sets'] === 'write')
        .map(({ projectId }) => projectId),
    ),
    readableProjects: new Set(
      ofProjects
        .filter(
          ({ projectAccess, workspaceAccess }) =>
            projectAccess['variable-sets'] !== 'none' || workspaceAccess.variables !== 'none',
        )
        .map(({ projectId }) => projectId),
    ),
    readableWorkspaces: new Set(
      ofWorkspaces
        .filter(({ values }) => values.variables !== 'none')
        .map(({ workspaceId }) => workspaceId),
    ),
  }
}

const NONE: ReadonlySet<string> = new Set()

type SetOwner = Pick<VariableSetRow, 'projectId'>

/** Sets of the organization require permission to manage all workspaces. */
export function mayWriteSet(
  { managesAll, writableProjects }: VariableSetAccess,
  { projectId }: SetOwner,
): boolean {
  return managesAll || (projectId !== null && writableProjects.has(projectId))
}

/** Permission to read the variables of a workspace includes the sets that its runs receive. */
export function mayReadSet(
  { store }: GovernanceContext,
  access: VariableSetAccess,
  set: Pick<VariableSetRow, 'id' | 'projectId' | 'global'>,
): boolean {
  if (mayWriteSet(access, set)) return true
  const { readableProjects, readableWorkspaces } = access
  if (readableProjects.size + readableWorkspaces.size === 0) return false
  if (set.global || (set.projectId !== null && readableProjects.has(set.projectId))) return true
  const { variable_set_members: members, workspaces: rows } = store.tables
  return members
    .rowsByIndex('set', set.id)
    .some(({ relation, memberId }) =>
      relation === 'projects'
        ? readableProjects.has(memberId)
        : readableWorkspaces.has(memberId) ||
          readableProjects.has(rows.find(memberId)?.projectId ?? ''),
    )
}
