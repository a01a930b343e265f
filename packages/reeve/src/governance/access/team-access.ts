import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  isEqual,
  NOT_FOUND,
  type AttributeProblem,
  type GovernanceRefusal,
  type TeamProjectRow,
  type TeamWorkspaceRow,
} from '../../model/index.ts'
import { put, remove, scopedKey, type Row } from '../../state/index.ts'
import { findProject, type VisibleOrganization, type VisibleProject } from '../authorization.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { type ProjectRight, teamRights } from '../permissions.ts'
import { findTeam } from '../teams.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'

/** Tables of team access, to projects and to workspaces. */
type AccessTable = 'team_projects' | 'team_workspaces'

interface NewAccess {
  readonly table: AccessTable
  readonly teamId: string
  /** ID of the project or workspace. */
  readonly targetId: string
  readonly organizationId: string
}

/**
 * Returns why a team cannot be given access. The team must be visible, in the same organization,
 * and without access so far.
 */
function newAccessProblems(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { table, teamId, targetId, organizationId }: NewAccess,
): Result<readonly AttributeProblem[], GovernanceRefusal> {
  const team = findTeam(context, caller, teamId)
  if (!team.ok) return team
  if (team.value.team.organizationId !== organizationId) return err(NOT_FOUND)
  const isTaken = context.store.tables[table].countByIndex('pair', scopedKey(teamId, targetId)) > 0
  if (!isTaken) return ok([])
  const targetNoun = table === 'team_projects' ? 'project' : 'workspace'
  const detail = `Team has access to the ${targetNoun} already`
  return ok([{ pointer: '/data/relationships/team', detail }])
}

interface AccessWrite<N extends AccessTable> {
  readonly table: N
  /** Undefined for a new access. */
  readonly before?: Row<N>
  readonly after: Row<N>
}

async function saveAccess<N extends AccessTable>(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { table, before, after }: AccessWrite<N>,
): Promise<void> {
  await commitWrite(context, {
    caller,
    organizationId: after.organizationId,
    affectedIds: [after.id],
    changes: isEqual(before, after) ? [] : [put(table, after)],
  })
}

async function deleteAccess<N extends AccessTable>(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { table, row }: { readonly table: N; readonly row: Row<N> },
): Promise<void> {
  await commitWrite(context, {
    caller,
    organizationId: row.organizationId,
    affectedIds: [row.id],
    changes: [remove(table, row.id)],
  })
}

/** Effective values of a level, or attributes that the request must not set. */
interface ResolvedAccessValues<V extends object> {
  readonly values: V
  readonly problems: readonly AttributeProblem[]
}

/**
 * Fixed levels have fixed values; only `custom` sets its own. Omitted ones are unchanged, or the
 * least if the level was not custom before.
 */
function resolveAccessValues<V extends object>(request: {
  readonly access: string
  /** Default values: those of the level, or of the previous custom access. */
  readonly base: V
  readonly requested: Readonly<Partial<V>>
  readonly pointer: string
}): ResolvedAccessValues<V> {
  const { access, base, requested, pointer } = request
  if (access === 'custom') return { values: { ...base, ...requested }, problems: [] }
  return {
    values: base,
    problems: Object.keys(requested).map((name) => ({
      pointer: `${pointer}/${name}`,
      // Clients match on this text.
      detail:
        `${sentenceCase(name)} is read-only when access level is '${access}'; ` +
        `use the 'custom' access level to set this attribute.`,
    })),
  }
}

/** Formats `state-versions` as `State versions`. */
function sentenceCase(name: string): string {
  const words = name.replaceAll('-', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

interface PageRange {
  readonly offset: number
  readonly limit: number
}

interface AccessPage<R> {
  readonly accesses: readonly R[]
  /** That the caller may see. */
  readonly total: number
}

/** Whether the caller may know of the team (secret teams only by some). */
function canSeeTeam(
  { store }: GovernanceContext,
  visible: VisibleOrganization,
  teamId: string,
): boolean {
  const team = store.tables.teams.find(teamId)
  return team !== undefined && teamRights(visible.role, team).read
}

/** One page of accesses, the oldest first. There are as many as teams at most. */
function pageOfAccesses<R extends { readonly id: string; readonly teamId: string }>(
  context: GovernanceContext,
  {
    table,
    rows,
    visible,
    window,
  }: {
    readonly table: { createIndexOf(key: string): number | undefined }
    readonly rows: readonly R[]
    readonly visible: VisibleOrganization
    readonly window: PageRange
  },
): AccessPage<R> {
  const ageOf = ({ id }: R): number => table.createIndexOf(id) ?? 0
  const visibleRows = rows
    .filter(({ teamId }) => canSeeTeam(context, visible, teamId))
    .toSorted((a, b) => ageOf(a) - ageOf(b) || compareText(a.id, b.id))
  return {
    accesses: visibleRows.slice(window.offset, window.offset + window.limit),
    total: visibleRows.length,
  }
}

/** Custom permissions on the workspaces of a project, from least to most. */
const NO_RUNS = {
  runs: 'read',
  variables: 'none',
  'state-versions': 'none',
  'policy-mocks': 'none',
  'run-tasks': false,
  'policy-overrides': false,
} as const
const READ = { ...NO_RUNS, variables: 'read', 'state-versions': 'read' } as const
const WRITE = {
  ...NO_RUNS,
  runs: 'apply',
  variables: 'write',
  'state-versions': 'write',
  'policy-mocks': 'read',
} as const
const ADMIN = { ...WRITE, 'run-tasks': true } as const

/** Permissions that change which workspaces exist. */
const NO_LIFECYCLE = { create: false, locking: false, delete: false, move: false } as const
const LOCK = { ...NO_LIFECYCLE, locking: true } as const
const CREATE_AND_DELETE = { ...LOCK, create: true, delete: true } as const
const FULL_LIFECYCLE = { ...CREATE_AND_DELETE, move: true } as const

const READ_SETTINGS = { settings: 'read', teams: 'none', 'variable-sets': 'none' } as const
const MANAGE_SETTINGS = { settings: 'delete', teams: 'manage', 'variable-sets': 'write' } as const

/** Values of the project access levels; for `custom` these are the defaults. */
export const PROJECT_LEVELS: {
  readonly [L in v2.ProjectAccessLevel]: Pick<TeamProjectRow, 'projectAccess' | 'workspaceAccess'>
} = {
  read: { projectAccess: READ_SETTINGS, workspaceAccess: { ...READ, ...NO_LIFECYCLE } },
  write: { projectAccess: READ_SETTINGS, workspaceAccess: { ...WRITE, ...LOCK } },
  maintain: { projectAccess: READ_SETTINGS, workspaceAccess: { ...ADMIN, ...CREATE_AND_DELETE } },
  admin: { projectAccess: MANAGE_SETTINGS, workspaceAccess: { ...ADMIN, ...FULL_LIFECYCLE } },
  custom: { projectAccess: READ_SETTINGS, workspaceAccess: { ...NO_RUNS, ...NO_LIFECYCLE } },
}

/** Values of the workspace access levels; for `custom` these are the defaults. */
export const WORKSPACE_LEVELS: {
  readonly [L in v2.WorkspaceAccessLevel]: TeamWorkspaceRow['values']
} = {
  read: { ...READ, 'workspace-locking': false },
  plan: { ...READ, runs: 'plan', 'workspace-locking': false },
  write: { ...WRITE, 'workspace-locking': true },
  admin: { ...ADMIN, 'workspace-locking': true },
  custom: { ...NO_RUNS, 'workspace-locking': false },
}

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

/** The accesses to a workspace, without those of teams that stay secret. */
export function listWorkspaceAccesses(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly workspaceId: string
    readonly teamId?: string | undefined
    readonly window: PageRange
  },
): Result<AccessPage<TeamWorkspaceRow>, GovernanceRefusal> {
  const { workspaceId, teamId, window } = request
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'read' })
  if (!found.ok) return found
  const { team_workspaces: accesses } = context.store.tables
  const rows =
    teamId === undefined
      ? accesses.rowsByIndex('workspace', workspaceId)
      : accesses.rowsByIndex('pair', scopedKey(teamId, workspaceId))
  return ok(pageOfAccesses(context, { table: accesses, rows, visible: found.value, window }))
}

/** An access that the caller may read, or change with `manageTeams`. */
export function findWorkspaceAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { id, right }: { readonly id: string; readonly right: 'read' | 'manageTeams' },
): Result<TeamWorkspaceRow, GovernanceRefusal> {
  const row = context.store.tables.team_workspaces.find(id)
  if (row === undefined) return err(NOT_FOUND)
  const address = { workspaceId: row.workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right })
  if (!found.ok) return found
  return canSeeTeam(context, found.value, row.teamId) ? ok(row) : err(NOT_FOUND)
}

/** Access is given to visible teams only. */
export async function createWorkspaceAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { attributes, relationships }: v2.TeamWorkspaceAccessCreateRequest['data'],
): Promise<Result<TeamWorkspaceRow, GovernanceRefusal>> {
  const workspaceId = relationships.workspace.data.id
  const teamId = relationships.team.data.id
  const right = 'manageTeams'
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right })
  if (!found.ok) return found
  const { organizationId, projectId } = found.value.workspace
  const newAccess = {
    table: 'team_workspaces',
    teamId,
    targetId: workspaceId,
    organizationId,
  } as const
  const accessProblems = newAccessProblems(context, caller, newAccess)
  if (!accessProblems.ok) return accessProblems
  const { access, ...requested } = attributes
  const pointer = '/data/attributes'
  const resolved = resolveAccessValues({
    access,
    base: WORKSPACE_LEVELS[access],
    requested,
    pointer,
  })
  const problems = [...accessProblems.value, ...resolved.problems]
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const id = newId(context.ids, 'team-workspaces')
  const { values } = resolved
  const row = { id, organizationId, teamId, workspaceId, projectId, access, values }
  await saveAccess(context, caller, { table: 'team_workspaces', after: row })
  return ok(row)
}

export async function updateWorkspaceAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: {
    readonly id: string
    readonly data: v2.TeamWorkspaceAccessUpdateRequest['data']
  },
): Promise<Result<TeamWorkspaceRow, GovernanceRefusal>> {
  const { id, data } = request
  const found = findWorkspaceAccess(context, caller, { id, right: 'manageTeams' })
  if (!found.ok) return found
  const { value: before } = found
  const { access = before.access, ...requested } = data.attributes ?? {}
  const base = access === before.access ? before.values : WORKSPACE_LEVELS[access]
  const { values, problems } = resolveAccessValues({
    access,
    base,
    requested,
    pointer: '/data/attributes',
  })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const row: TeamWorkspaceRow = { ...before, access, values }
  await saveAccess(context, caller, { table: 'team_workspaces', before, after: row })
  return ok(row)
}

export async function deleteWorkspaceAccess(
  context: GovernanceContext,
  caller: GovernanceCaller,
  id: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findWorkspaceAccess(context, caller, { id, right: 'manageTeams' })
  if (!found.ok) return found
  await deleteAccess(context, caller, { table: 'team_workspaces', row: found.value })
  return ok(undefined)
}
