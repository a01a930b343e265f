import type { AuditActor } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import {
  findOrganization,
  findPublicUser,
  findOrganizationById,
  type CallerIdentity,
  type GovernanceContext,
} from '../../governance/index.ts'
import type { Tables } from '../../state/index.ts'

const actors = new WeakMap<Caller, AuditActor>()

/** Returns the actor of a write on `/v1`, cached by caller. */
export function workloadActor(caller: Caller): AuditActor {
  const cached = actors.get(caller)
  if (cached !== undefined) return cached
  const { type, accessorId, name } = caller
  const actor: AuditActor = { Type: type, ID: accessorId, Name: name, TokenID: accessorId }
  actors.set(caller, actor)
  return actor
}

/** Returns the actor of a write on `/api/v2`. A management token has the same actor as on `/v1`. */
export function governanceActor(context: GovernanceContext, caller: CallerIdentity): AuditActor {
  if (caller.kind === 'site') {
    const { accessorId } = caller
    const name = context.store.tables.acl_tokens.find(accessorId)?.Name ?? ''
    return { Type: 'management', ID: accessorId, Name: name, TokenID: accessorId }
  }
  return {
    // An audit trail token cannot write; its rejected attempts count as its organization's.
    Type: caller.kind === 'audit-trails' ? 'organization' : caller.kind,
    ID: caller.userId,
    Name: findPublicUser(context, caller.userId)?.username ?? '',
    TokenID: caller.tokenId,
  }
}

/** Table of the object that a path parameter identifies. */
const TABLE_OF_PARAMETER = {
  configuration_version_id: 'configuration_versions',
  notification_configuration_id: 'notification_configurations',
  organization_membership_id: 'organization_memberships',
  policy_id: 'run_policies',
  policy_set_id: 'policy_sets',
  policy_set_parameter_id: 'policy_set_parameters',
  policy_set_version_id: 'policy_set_versions',
  project_id: 'projects',
  reserved_tag_key_id: 'reserved_tag_keys',
  run_trigger_id: 'run_triggers',
  state_version_id: 'state_versions',
  team_id: 'teams',
  team_project_id: 'team_projects',
  team_workspace_id: 'team_workspaces',
  variable_set_id: 'variable_sets',
  workspace_id: 'workspaces',
} as const satisfies Record<string, keyof Tables>

/**
 * Returns the organization whose audit trail records a rejected write: the one in the path, if the
 * caller may see it. Attempts of other callers are visible to site administrators only.
 */
export function organizationOfRequest(
  context: GovernanceContext,
  caller: CallerIdentity,
  params: Readonly<Record<string, string>>,
): string {
  const { organization_name: name } = params
  const membership =
    name === undefined
      ? findOrganizationById(context, caller, organizationOf(context, params) ?? '')
      : findOrganization(context, caller, name)
  return membership.ok ? membership.value.organization.id : ''
}

function organizationOf(
  { store }: GovernanceContext,
  params: Readonly<Record<string, string>>,
): string | undefined {
  for (const [param, table] of Object.entries(TABLE_OF_PARAMETER)) {
    const id = params[param]
    if (id !== undefined) return store.tables[table].find(id)?.organizationId
  }
  return undefined
}
