import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type TeamProjectRow,
} from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { ProjectRight } from '../permissions.ts'
import { findProject, type VisibleProject } from '../authorization.ts'
import {
  type AccessPage,
  canSeeTeam,
  deleteAccess,
  newAccessProblems,
  pageOfAccesses,
  type PageRange,
  PROJECT_LEVELS,
  resolveAccessValues,
  saveAccess,
} from './team-access.ts'

/** Returns the project if the caller has this permission on its teams. */
function findProjectWithRight(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, right }: { readonly projectId: string; readonly right: ProjectRight },
): Result<VisibleProject, GovernanceRefusal> {
  const found = findProject(context, caller, projectId)
  return found.ok && !found.value.rights[right] ? err(NOT_FOUND) : found
}

/**
 * Returns the team accesses of a project, except those of secret teams that the caller cannot see.
 */
export function listProjectAccesses(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, window }: { readonly projectId: string; readonly window: PageRange },
): Result<AccessPage<TeamProjectRow>, GovernanceRefusal> {
  const found = findProjectWithRight(context, caller, { projectId, right: 'readTeams' })
  if (!found.ok) return found
  const { team_projects: accesses } = context.store.tables
  const rows = accesses.rowsByIndex('project', projectId)
  return ok(pageOfAccesses(context, { table: accesses, rows, visible: found.value, window }))
}

/** Returns an access that the caller may read, or change if `manageTeams` is set. */
export function findProjectAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, right }: { readonly id: string; readonly right: 'readTeams' | 'manageTeams' },
): Result<TeamProjectRow, GovernanceRefusal> {
  const row = context.store.tables.team_projects.find(id)
  if (row === undefined) return err(NOT_FOUND)
  const found = findProjectWithRight(context, caller, { projectId: row.projectId, right })
  if (!found.ok) return found
  return canSeeTeam(context, found.value, row.teamId) ? ok(row) : err(NOT_FOUND)
}

/** Grants access; only to visible teams. */
export async function createProjectAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { attributes, relationships }: v2.TeamProjectAccessCreateRequest['data'],
): Promise<Result<TeamProjectRow, GovernanceRefusal>> {
  const projectId = relationships.project.data.id
  const teamId = relationships.team.data.id
  const found = findProjectWithRight(context, caller, { projectId, right: 'manageTeams' })
  if (!found.ok) return found
  const { organizationId } = found.value.project
  const newAccess = { table: 'team_projects', teamId, targetId: projectId, organizationId } as const
  const accessProblems = newAccessProblems(context, caller, newAccess)
  if (!accessProblems.ok) return accessProblems
  const { access } = attributes
  const resolved = resolveProjectAccess({ access, base: PROJECT_LEVELS[access], attributes })
  const problems = [...accessProblems.value, ...resolved.problems]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const id = newId(context.ids, 'team-projects')
  const row = { id, organizationId, teamId, projectId, access, ...resolved.values }
  await saveAccess(context, caller, { table: 'team_projects', after: row })
  return ok(row)
}

type ProjectAccessValues = Pick<TeamProjectRow, 'projectAccess' | 'workspaceAccess'>

function resolveProjectAccess({
  access,
  base,
  attributes,
}: {
  readonly access: v2.ProjectAccessLevel
  readonly base: ProjectAccessValues
  readonly attributes: NonNullable<v2.TeamProjectAccessUpdateRequest['data']['attributes']>
}): { readonly values: ProjectAccessValues; readonly problems: readonly AttributeProblem[] } {
  const pointer = '/data/attributes'
  const project = resolveAccessValues({
    access,
    base: base.projectAccess,
    requested: attributes['project-access'] ?? {},
    pointer: `${pointer}/project-access`,
  })
  const workspace = resolveAccessValues({
    access,
    base: base.workspaceAccess,
    requested: attributes['workspace-access'] ?? {},
    pointer: `${pointer}/workspace-access`,
  })
  return {
    values: { projectAccess: project.values, workspaceAccess: workspace.values },
    problems: [...project.problems, ...workspace.problems],
  }
}

export async function updateProjectAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly id: string
    readonly data: v2.TeamProjectAccessUpdateRequest['data']
  },
): Promise<Result<TeamProjectRow, GovernanceRefusal>> {
  const { id, data } = request
  const found = findProjectAccess(context, caller, { id, right: 'manageTeams' })
  if (!found.ok) return found
  const { value: before } = found
  const { attributes = {} } = data
  const access = attributes.access ?? before.access
  const base = access === before.access ? before : PROJECT_LEVELS[access]
  const { values, problems } = resolveProjectAccess({ access, base, attributes })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const row: TeamProjectRow = { ...before, access, ...values }
  await saveAccess(context, caller, { table: 'team_projects', before, after: row })
  return ok(row)
}

export async function deleteProjectAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findProjectAccess(context, caller, { id, right: 'manageTeams' })
  if (!found.ok) return found
  await deleteAccess(context, caller, { table: 'team_projects', row: found.value })
  return ok(undefined)
}
