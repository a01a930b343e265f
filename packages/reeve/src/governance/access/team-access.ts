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
import type { VisibleOrganization } from '../authorization.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { teamRights } from '../permissions.ts'
import { findTeam } from '../teams.ts'

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
export function newAccessProblems(
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

export async function saveAccess<N extends AccessTable>(
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

export async function deleteAccess<N extends AccessTable>(
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
export function resolveAccessValues<V extends object>(request: {
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

export interface PageRange {
  readonly offset: number
  readonly limit: number
}

export interface AccessPage<R> {
  readonly accesses: readonly R[]
  /** That the caller may see. */
  readonly total: number
}

/** Whether the caller may know of the team (secret teams only by some). */
export function canSeeTeam(
  { store }: GovernanceContext,
  visible: VisibleOrganization,
  teamId: string,
): boolean {
  const team = store.tables.teams.find(teamId)
  return team !== undefined && teamRights(visible.role, team).read
}

/** One page of accesses, the oldest first. There are as many as teams at most. */
export function pageOfAccesses<R extends { readonly id: string; readonly teamId: string }>(
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
