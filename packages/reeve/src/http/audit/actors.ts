import type { AuditActor } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import {
  findSeat,
  findShownUser,
  seatIn,
  type CallerIdentity,
  type GovernanceContext,
} from '../../governance/index.ts'
import type { Tables } from '../../state/index.ts'

const actors = new WeakMap<Caller, AuditActor>()

/** The actor of a write on `/v1`. Callers are remembered between requests, and so are these. */
export function workloadActor(caller: Caller): AuditActor {
  const known = actors.get(caller)
  if (known !== undefined) return known
  const { type, accessorId, name } = caller
  const actor: AuditActor = { Type: type, ID: accessorId, Name: name, TokenID: accessorId }
  actors.set(caller, actor)
  return actor
}

/** The actor of a write on `/api/v2`. A management token is the same one as on `/v1`. */
export function governanceActor(context: GovernanceContext, caller: CallerIdentity): AuditActor {
  if (caller.kind === 'site') {
    const { accessorId } = caller
    const name = context.store.tables.acl_tokens.find(accessorId)?.Name ?? ''
    return { Type: 'management', ID: accessorId, Name: name, TokenID: accessorId }
  }
  return {
    // A token for the trail writes nothing; where it tries to, it acts for its organization.
    Type: caller.kind === 'audit-trails' ? 'organization' : caller.kind,
    ID: caller.userId,
    Name: findShownUser(context, caller.userId)?.username ?? '',
    TokenID: caller.tokenId,
  }
}

/** Where an id in a path is found, by the parameter's name. */
const TABLE_OF = {
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
 * The organization in whose trail a refused write belongs: the one that its path is about, if the
 * caller may know of it. What a stranger tries is for the site's administrators alone.
 */
export function organizationOfRequest(
  context: GovernanceContext,
  caller: CallerIdentity,
  params: Readonly<Record<string, string>>,
): string {
  const { organization_name: name } = params
  const seat =
    name === undefined
      ? seatIn(context, caller, organizationOf(context, params) ?? '')
      : findSeat(context, caller, name)
  return seat.ok ? seat.value.organization.id : ''
}

function organizationOf(
  { store }: GovernanceContext,
  params: Readonly<Record<string, string>>,
): string | undefined {
  for (const [param, table] of Object.entries(TABLE_OF)) {
    const id = params[param]
    if (id !== undefined) return store.tables[table].find(id)?.organizationId
  }
  return undefined
}
