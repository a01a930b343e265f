import type { v2 } from '@reeve/contract'
import {
  findPolicy,
  findProject,
  findVersion,
  findWorkspace,
  setMembers,
  type GovernanceCaller,
  type GovernanceContext,
  type SeenPolicySet,
} from '../../governance/index.ts'
import type { Resource } from './endpoint.ts'
import { policyResource } from './resources/policy.ts'
import { policySetVersionResource } from './resources/policy-set.ts'
import { projectResource } from './resources/project.ts'
import { workspaceResource } from './resources/workspace.ts'

interface Asking {
  readonly caller: GovernanceCaller
  readonly includes: ReadonlySet<string>
}

/** Returns the objects that sets refer to and the caller may read; others remain identifiers. */
export function includedInSets(
  context: GovernanceContext,
  sets: readonly SeenPolicySet[],
  { caller, includes }: Asking,
): { readonly included?: readonly Resource[] } {
  if (includes.size === 0) return {}
  const asked = INCLUDES.filter(({ name }) => includes.has(name))
  return {
    included: sets.flatMap((seen) =>
      asked.flatMap(({ ids, find }) =>
        ids(context, seen).flatMap((id) => find(context, caller, id) ?? []),
      ),
    ),
  }
}

interface Include {
  readonly name: (typeof v2.POLICY_SET_INCLUDES)[number]
  readonly ids: (context: GovernanceContext, seen: SeenPolicySet) => readonly string[]
  readonly find: (
    context: GovernanceContext,
    caller: GovernanceCaller,
    id: string,
  ) => Resource | undefined
}

const INCLUDES: readonly Include[] = [
  { name: 'policies', ids: members('policies'), find: policy },
  { name: 'workspaces', ids: members('workspaces'), find: workspace },
  { name: 'workspace_exclusions', ids: members('workspace-exclusions'), find: workspace },
  { name: 'projects', ids: members('projects'), find: project },
  { name: 'project_exclusions', ids: members('project-exclusions'), find: project },
  { name: 'current_version', ids: (_, { set }) => some(set.currentVersionId), find: version },
  { name: 'newest_version', ids: (_, { set }) => some(set.newestVersionId), find: version },
]

function members(relation: Parameters<typeof setMembers>[2]): Include['ids'] {
  return ({ store }, { set }) => setMembers(store.tables, set.id, relation)
}

function some(id: string | null): readonly string[] {
  return id === null ? [] : [id]
}

function policy(...[context, caller, policyId]: Parameters<Include['find']>) {
  const seen = findPolicy(context, caller, { policyId, right: 'read' })
  return seen.ok ? policyResource(context.store.tables, seen.value) : undefined
}

function workspace(...[context, caller, workspaceId]: Parameters<Include['find']>) {
  const seen = findWorkspace(context, caller, { workspaceId })
  return seen.ok ? workspaceResource(context, seen.value) : undefined
}

function project(...[context, caller, id]: Parameters<Include['find']>) {
  const seen = findProject(context, caller, id)
  return seen.ok ? projectResource(context.store.tables, seen.value) : undefined
}

function version(...[context, caller, versionId]: Parameters<Include['find']>) {
  const seen = findVersion(context, caller, { versionId, right: 'read' })
  return seen.ok ? policySetVersionResource(seen.value.version) : undefined
}
