import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { AttributeProblem, GovernanceRefusal } from '../../model/index.ts'
import { put, remove, scopedKey, type Change, type Tables } from '../../state/index.ts'
import { isSiteAdministrator, type CallerIdentity, type GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { organizationPermissions, type Standing } from '../permissions.ts'
import { findChangeableProject } from '../standing.ts'

interface NamespaceChange {
  readonly projectId: string
  readonly namespaces: readonly string[]
}

/**
 * Policies read the jobs that they guard and can refuse them, and anybody may have an organization:
 * so it is given a namespace by the site administrator, who also says who may use it on `/v1`.
 * Where everybody may use everything there, nothing is won by that.
 */
export function mayGiveNamespaces(
  { aclEnabled }: Pick<GovernanceContext, 'aclEnabled'>,
  caller: CallerIdentity,
): boolean {
  return !aclEnabled || isSiteAdministrator(caller)
}

/**
 * Jobs of a namespace that leaves are guarded by no policy of the organization any more: that is
 * for who manages its policies, and for whom the namespace came from. Who manages projects alone
 * could else pass by every set.
 */
export function mayReleaseNamespaces(
  context: Pick<GovernanceContext, 'aclEnabled'>,
  caller: CallerIdentity,
  standing: Standing,
): boolean {
  return (
    mayGiveNamespaces(context, caller) || organizationPermissions(standing)['can-update-policies']
  )
}

/** The policy sets of the project guard the namespaces that belong to it. */
export async function addProjectNamespaces(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, namespaces }: NamespaceChange,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findChangeableProject(context, caller, projectId)
  if (!seen.ok) return seen
  const { organizationId } = seen.value.project
  const { tables } = context.store
  const problems: AttributeProblem[] = []
  namespaces.forEach((name, i) => {
    const pointer = `/data/${i}/id`
    const owner = tables.project_namespaces.find(name)?.projectId
    if (owner === projectId) return
    // Which namespaces there are is not told to who may not add them.
    if (!mayGiveNamespaces(context, caller))
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
    action: 'ProjectNamespacesChanged',
    caller,
    organizationId,
    subjects: [projectId, ...added],
    changes: [...added].flatMap((namespace) => [
      put('project_namespaces', { namespace, projectId, organizationId }),
      ...foreignMembers(tables, namespace, organizationId),
    ]),
  })
  return ok(undefined)
}

/** Sets of other organizations that named a namespace while it was nobody's, or theirs. */
function foreignMembers(
  { policy_set_members: members }: Tables,
  namespace: string,
  organizationId: string,
): readonly Change[] {
  return [...members.keysIn('member', scopedKey('namespaces', namespace))]
    .filter((key) => members.get(key).organizationId !== organizationId)
    .map((key) => remove('policy_set_members', key))
}

/** The project is no secret to who may change it, so this is no 404. */
export const NOT_RELEASED: GovernanceRefusal = {
  code: 'forbidden',
  detail:
    'Not authorized to take namespaces out of the project: it takes the permission to manage policies',
}

/** Namespaces that were not members are ignored. */
export async function removeProjectNamespaces(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { projectId, namespaces }: NamespaceChange,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findChangeableProject(context, caller, projectId)
  if (!seen.ok) return seen
  if (!mayReleaseNamespaces(context, caller, seen.value.standing)) return err(NOT_RELEASED)
  const { project_namespaces: members } = context.store.tables
  const gone = new Set(namespaces.filter((name) => members.find(name)?.projectId === projectId))
  await commitWrite(context, {
    action: 'ProjectNamespacesChanged',
    caller,
    organizationId: seen.value.project.organizationId,
    subjects: [projectId, ...gone],
    changes: [...gone].map((name) => remove('project_namespaces', name)),
  })
  return ok(undefined)
}
