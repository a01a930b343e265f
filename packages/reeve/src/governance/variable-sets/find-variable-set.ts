import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { NOT_FOUND, type GovernanceRefusal, type VariableSetRow } from '../../model/index.ts'
import { normalizeName, scopedKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import type { GovernanceContext } from '../context.ts'
import {
  findProject,
  findOrganization,
  findOrganizationById,
  type VisibleOrganization,
} from '../authorization.ts'
import type { OrganizationRole } from '../permissions.ts'
import { applicableVariableSets } from '../variables/effective-variables.ts'
import { findWorkspaceWith } from '../workspaces/find-workspace.ts'

/** A variable set visible to the caller. */
export interface VisibleVariableSet extends VisibleOrganization {
  readonly set: VariableSetRow
}

/** Returns the variable set if the caller has the permission on it. */
export function findVariableSet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { variableSetId, right }: { readonly variableSetId: string; readonly right: VariableSetRight },
): Result<VisibleVariableSet, GovernanceRefusal> {
  const set = context.store.tables.variable_sets.find(variableSetId)
  if (set === undefined) return err(NOT_FOUND)
  const found = findOrganizationById(context, caller, set.organizationId)
  if (!found.ok) return found
  const access = variableSetAccess(context, found.value.role)
  const isAllowed = right === 'update' ? mayWriteSet(access, set) : mayReadSet(context, access, set)
  return isAllowed ? ok({ ...found.value, set }) : err(NOT_FOUND)
}

/** Returns the organization if the caller may create variable sets anywhere in it. */
export function findOrganizationForNewVariableSet(
  context: GovernanceContext,
  caller: GovernanceCaller,
  organizationName: string,
): Result<VisibleOrganization & { readonly reach: VariableSetAccess }, GovernanceRefusal> {
  const found = findOrganization(context, caller, organizationName)
  if (!found.ok) return found
  const reach = variableSetAccess(context, found.value.role)
  return reach.managesAll || reach.writableProjects.size > 0
    ? ok({ ...found.value, reach })
    : err(NOT_FOUND)
}

/** Lists the sets of an organization that the caller may read, by name. */
export function listVariableSets(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { organizationName, part }: { readonly organizationName: string; readonly part?: string },
): Result<readonly VisibleVariableSet[], GovernanceRefusal> {
  const lookup = findOrganization(context, caller, organizationName)
  if (!lookup.ok) return lookup
  const { id } = lookup.value.organization
  const foldedPart = normalizeName(part ?? '')
  const all = context.store.tables.variable_sets.rowsByIndex('organization', id)
  const found = all.filter(({ name }) => normalizeName(name).includes(foldedPart))
  return ok(readableSets(context, lookup.value, found).toSorted(byName))
}

/** Returns the sets whose variables the runs of a workspace receive, highest precedence first. */
export function setsOfWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Result<readonly VisibleVariableSet[], GovernanceRefusal> {
  const address = { workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right: 'readVariables' })
  if (!found.ok) return found
  const { workspace, organization, role } = found.value
  const { priority, others } = applicableVariableSets(context.store.tables, workspace)
  return ok([...priority, ...others].map((set) => ({ organization, role, set })))
}

/** Returns the sets that a project owns, and those that apply to all its workspaces. */
export function setsOfProject(
  context: GovernanceContext,
  caller: GovernanceCaller,
  projectId: string,
): Result<readonly VisibleVariableSet[], GovernanceRefusal> {
  const lookup = findProject(context, caller, projectId)
  if (!lookup.ok) return lookup
  const { variable_sets: sets, variable_set_members: members } = context.store.tables
  const found = new Set([
    ...sets.rowsByIndex('project', projectId),
    ...members
      .rowsByIndex('member', scopedKey('projects', projectId))
      .flatMap(({ variableSetId }) => sets.find(variableSetId) ?? []),
    ...sets.rowsByIndex('global', lookup.value.organization.id),
  ])
  return ok(readableSets(context, lookup.value, [...found]).toSorted(byName))
}

function readableSets(
  context: GovernanceContext,
  { organization, role }: VisibleOrganization,
  sets: readonly VariableSetRow[],
): readonly VisibleVariableSet[] {
  const access = variableSetAccess(context, role)
  return sets
    .filter((set) => mayReadSet(context, access, set))
    .map((set) => ({ organization, role, set }))
}

function byName({ set: a }: VisibleVariableSet, { set: b }: VisibleVariableSet): number {
  return compareText(normalizeName(a.name), normalizeName(b.name)) || compareText(a.id, b.id)
}

export type VariableSetRight = 'read' | 'update'

/** Permissions of a caller on the variable sets of an organization. */
interface VariableSetAccess {
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
function variableSetAccess(
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
function mayReadSet(
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
