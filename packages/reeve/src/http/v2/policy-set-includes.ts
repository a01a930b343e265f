import type { v2 } from '@reeve/contract'
import {
  findPolicy,
  findProject,
  findVersion,
  findWorkspace,
  listMemberIds,
  type GovernanceCaller,
  type GovernanceContext,
  type VisiblePolicySet,
} from '../../governance/index.ts'
import type { Resource } from './endpoint.ts'
import { policyResource } from './resources/policy.ts'
import { policySetVersionResource } from './resources/policy-set.ts'
import { projectResource } from './resources/project.ts'
import { workspaceResource } from './resources/workspace.ts'

interface IncludeRequest {
  readonly caller: GovernanceCaller
  readonly includes: ReadonlySet<string>
}

/** Returns the objects that sets refer to and the caller may read; others remain identifiers. */
export function policySetIncludes(
  context: GovernanceContext,
  sets: readonly VisiblePolicySet[],
  { caller, includes }: IncludeRequest,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const requested = INCLUDES.filter(({ name }) => includes.has(name))
  return {
    included: sets.flatMap((visible) =>
      requested.flatMap(({ ids, find }) =>
        ids(context, visible).flatMap((id) => find(context, caller, id) ?? []),
      ),
    ),
  }
}

interface IncludeSpec {
  readonly name: (typeof v2.POLICY_SET_INCLUDES)[number]
  readonly ids: (context: GovernanceContext, seen: VisiblePolicySet) => readonly string[]
  readonly find: (
    context: GovernanceContext,
    caller: GovernanceCaller,
    id: string,
  ) => Resource | undefined
}

const INCLUDES: readonly IncludeSpec[] = [
  { name: 'policies', ids: memberIds('policies'), find: findPolicyResource },
  { name: 'workspaces', ids: memberIds('workspaces'), find: findWorkspaceResource },
  {
    name: 'workspace_exclusions',
    ids: memberIds('workspace-exclusions'),
    find: findWorkspaceResource,
  },
  { name: 'projects', ids: memberIds('projects'), find: findProjectResource },
  { name: 'project_exclusions', ids: memberIds('project-exclusions'), find: findProjectResource },
  {
    name: 'current_version',
    ids: (_, { set }) => optionalId(set.currentVersionId),
    find: findVersionResource,
  },
  {
    name: 'newest_version',
    ids: (_, { set }) => optionalId(set.newestVersionId),
    find: findVersionResource,
  },
]

function memberIds(relation: Parameters<typeof listMemberIds>[2]): IncludeSpec['ids'] {
  return ({ store }, { set }) => listMemberIds(store.tables, set.id, relation)
}

function optionalId(id: string | null): readonly string[] {
  return id === null ? [] : [id]
}

function findPolicyResource(...[context, caller, policyId]: Parameters<IncludeSpec['find']>) {
  const visible = findPolicy(context, caller, { policyId, right: 'read' })
  return visible.ok ? policyResource(context.store.tables, visible.value) : undefined
}

function findWorkspaceResource(...[context, caller, workspaceId]: Parameters<IncludeSpec['find']>) {
  const visible = findWorkspace(context, caller, { workspaceId })
  return visible.ok ? workspaceResource(context, visible.value) : undefined
}

function findProjectResource(...[context, caller, id]: Parameters<IncludeSpec['find']>) {
  const visible = findProject(context, caller, id)
  return visible.ok ? projectResource(context.store.tables, visible.value) : undefined
}

function findVersionResource(...[context, caller, versionId]: Parameters<IncludeSpec['find']>) {
  const visible = findVersion(context, caller, { versionId, right: 'read' })
  return visible.ok ? policySetVersionResource(visible.value.version) : undefined
}
