import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { AttributeProblem, GovernanceRefusal } from '../../model/index.ts'
import { put, remove, scopedKey, type Change, type Tables } from '../../state/index.ts'
import { isSiteAdministrator, type CallerIdentity, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { organizationPermissions, type OrganizationRole } from '../permissions.ts'
import { findUpdatableProject } from '../authorization.ts'

interface NamespaceChange {
  readonly projectId: string
  readonly namespaces: readonly string[]
}

/**
 * Only the site administrator may assign a namespace to a project: the organization's policies can
 * read and reject its jobs, and any user may create an organization. With ACLs disabled anyone may,
 * because all callers have full access to `/v1`.
 */
export function mayAssignNamespaces(
  { aclEnabled }: Pick<GovernanceContext, 'aclEnabled'>,
  caller: CallerIdentity,
): boolean {
  return !aclEnabled || isSiteAdministrator(caller)
}

/**
 * Reports whether the caller may remove namespaces from a project: the organization's policies no
 * longer apply to their jobs then. It requires permission to manage policies, or to assign
 * namespaces; otherwise users who manage projects could bypass all sets.
 */
export function mayUnassignNamespaces(
  context: Pick<GovernanceContext, 'aclEnabled'>,
  caller: CallerIdentity,
  role: OrganizationRole,
): boolean {
  return (
    mayAssignNamespaces(context, caller) || organizationPermissions(role)['can-update-policies']
  )
}

/** Adds namespaces to a project, whose policy sets then apply to them. */
export async function addProjectNamespaces(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, namespaces }: NamespaceChange,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findUpdatableProject(context, caller, projectId)
  if (!found.ok) return found
  const { organizationId } = found.value.project
  const { tables } = context.store
  const problems: AttributeProblem[] = []
  namespaces.forEach((name, i) => {
    const pointer = `/data/${i}/id`
    const owner = tables.project_namespaces.find(name)?.projectId
    if (owner === projectId) return
    // Callers without permission do not learn which namespaces exist.
    if (!mayAssignNamespaces(context, caller))
      problems.push({
        pointer,
        detail: `Namespace ${name} can only be added by the site administrator`,
      })
    else if (!tables.namespaces.has(name))
      problems.push({ pointer, detail: `Namespace ${name} does not exist` })
    else if (owner !== undefined)
      problems.push({ pointer, detail: `Namespace ${name} belongs to another project` })
  })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const added = new Set(namespaces.filter((name) => !tables.project_namespaces.has(name)))
  await commitWrite(context, {
    caller,
    organizationId,
    affectedIds: [projectId, ...added],
    changes: [...added].flatMap((namespace) => [
      put('project_namespaces', { namespace, projectId, organizationId }),
      ...detachForeignSetsChanges(tables, namespace, organizationId),
    ]),
  })
  return ok(undefined)
}

/** Returns memberships of sets of other organizations, from before the namespace was assigned. */
function detachForeignSetsChanges(
  { policy_set_members: members }: Tables,
  namespace: string,
  organizationId: string,
): readonly Change[] {
  return [...members.keysByIndex('member', scopedKey('namespaces', namespace))]
    .filter((key) => members.get(key).organizationId !== organizationId)
    .map((key) => remove('policy_set_members', key))
}

/** The project is visible to callers who may change it, so this is not a 404. */
export const UNASSIGN_FORBIDDEN: GovernanceRefusal = {
  code: 'forbidden',
  detail:
    'Not authorized to take namespaces out of the project: it takes the permission to manage policies',
}

/** Removes namespaces from a project; those that were not members are ignored. */
export async function removeProjectNamespaces(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, namespaces }: NamespaceChange,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findUpdatableProject(context, caller, projectId)
  if (!found.ok) return found
  if (!mayUnassignNamespaces(context, caller, found.value.role)) return err(UNASSIGN_FORBIDDEN)
  const { project_namespaces: members } = context.store.tables
  const removed = new Set(namespaces.filter((name) => members.find(name)?.projectId === projectId))
  await commitWrite(context, {
    caller,
    organizationId: found.value.project.organizationId,
    affectedIds: [projectId, ...removed],
    changes: [...removed].map((name) => remove('project_namespaces', name)),
  })
  return ok(undefined)
}
