import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  UNSEEN,
  type AttributeProblem,
  type GovernanceRefusal,
  type TeamProjectRow,
} from '../../model/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { ProjectRight } from '../permissions.ts'
import { findProject, type SeenProject } from '../standing.ts'
import { planValues } from './access-values.ts'
import { endAccess, giftProblems, saveAccess } from './given-access.ts'
import { PROJECT_LEVELS } from './levels.ts'
import { pageOf, seesTeam, type AccessPage, type Window } from './shown-accesses.ts'

/** Returns the project if the caller has this permission on its teams. */
function findProjectWith(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, right }: { readonly projectId: string; readonly right: ProjectRight },
): Result<SeenProject, GovernanceRefusal> {
  const seen = findProject(context, caller, projectId)
  return seen.ok && !seen.value.rights[right] ? err(UNSEEN) : seen
}

/**
 * Returns the team accesses of a project, except those of secret teams that the caller cannot see.
 */
export function listProjectAccesses(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, window }: { readonly projectId: string; readonly window: Window },
): Result<AccessPage<TeamProjectRow>, GovernanceRefusal> {
  const seen = findProjectWith(context, caller, { projectId, right: 'readTeams' })
  if (!seen.ok) return seen
  const { team_projects: accesses } = context.store.tables
  const rows = accesses.rowsIn('project', projectId)
  return ok(pageOf(context, { table: accesses, rows, seat: seen.value, window }))
}

/** Returns an access that the caller may read, or change if `manageTeams` is set. */
export function findProjectAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, right }: { readonly id: string; readonly right: 'readTeams' | 'manageTeams' },
): Result<TeamProjectRow, GovernanceRefusal> {
  const row = context.store.tables.team_projects.find(id)
  if (row === undefined) return err(UNSEEN)
  const seen = findProjectWith(context, caller, { projectId: row.projectId, right })
  if (!seen.ok) return seen
  return seesTeam(context, seen.value, row.teamId) ? ok(row) : err(UNSEEN)
}

/** Grants access; only to visible teams. */
export async function createProjectAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { attributes, relationships }: v2.TeamProjectAccessCreateRequest['data'],
): Promise<Result<TeamProjectRow, GovernanceRefusal>> {
  const projectId = relationships.project.data.id
  const teamId = relationships.team.data.id
  const seen = findProjectWith(context, caller, { projectId, right: 'manageTeams' })
  if (!seen.ok) return seen
  const { organizationId } = seen.value.project
  const gift = { table: 'team_projects', teamId, targetId: projectId, organizationId } as const
  const forbidden = giftProblems(context, caller, gift)
  if (!forbidden.ok) return forbidden
  const { access } = attributes
  const planned = planAccess({ access, base: PROJECT_LEVELS[access], attributes })
  const problems = [...forbidden.value, ...planned.problems]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const id = newId(context.ids, 'team-projects')
  const row = { id, organizationId, teamId, projectId, access, ...planned.values }
  await saveAccess(context, caller, { table: 'team_projects', after: row })
  return ok(row)
}

type Values = Pick<TeamProjectRow, 'projectAccess' | 'workspaceAccess'>

function planAccess({
  access,
  base,
  attributes,
}: {
  readonly access: v2.ProjectAccessLevel
  readonly base: Values
  readonly attributes: NonNullable<v2.TeamProjectAccessUpdateRequest['data']['attributes']>
}): { readonly values: Values; readonly problems: readonly AttributeProblem[] } {
  const pointer = '/data/attributes'
  const project = planValues({
    access,
    base: base.projectAccess,
    given: attributes['project-access'] ?? {},
    pointer: `${pointer}/project-access`,
  })
  const workspace = planValues({
    access,
    base: base.workspaceAccess,
    given: attributes['workspace-access'] ?? {},
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
  const { values, problems } = planAccess({ access, base, attributes })
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
  await endAccess(context, caller, { table: 'team_projects', row: found.value })
  return ok(undefined)
}
