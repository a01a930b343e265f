import type {
  ApiTokenRow,
  OrganizationMembershipRow,
  OrganizationRow,
  PolicyCodeRow,
  PolicySetMemberRow,
  PolicySetParameterRow,
  PolicySetRelation,
  PolicySetRow,
  PolicySetVersionRow,
  ProjectNamespaceRow,
  ProjectRow,
  ReservedTagKeyRow,
  RunPolicyRow,
  SetVariableRow,
  TagBindingRow,
  TeamMembershipRow,
  TeamProjectRow,
  TeamRow,
  TeamWorkspaceRow,
  UserRow,
  VariableSetMemberRow,
  VariableSetRow,
  WorkspaceRow,
} from '../../model/index.ts'
import {
  LARGE_SPEC_DEFAULTS,
  organizationIdOf,
  GOVERNANCE_SPEC_DEFAULTS,
  RUN_SPECS,
  scopedKey,
  type RunRows,
} from './run-tables.ts'
import type { TableSpec } from '../table/table.ts'

/** Row types of the governance tables. */
export interface GovernanceRows extends RunRows {
  readonly api_tokens: ApiTokenRow
  readonly organization_memberships: OrganizationMembershipRow
  readonly organizations: OrganizationRow
  readonly policy_codes: PolicyCodeRow
  readonly policy_set_members: PolicySetMemberRow
  readonly policy_set_parameters: PolicySetParameterRow
  readonly policy_set_versions: PolicySetVersionRow
  readonly policy_sets: PolicySetRow
  readonly project_namespaces: ProjectNamespaceRow
  readonly projects: ProjectRow
  readonly reserved_tag_keys: ReservedTagKeyRow
  readonly run_policies: RunPolicyRow
  readonly tag_bindings: TagBindingRow
  readonly team_memberships: TeamMembershipRow
  readonly team_projects: TeamProjectRow
  readonly team_workspaces: TeamWorkspaceRow
  readonly teams: TeamRow
  readonly users: UserRow
  readonly variable_set_members: VariableSetMemberRow
  readonly variable_set_variables: SetVariableRow
  readonly variable_sets: VariableSetRow
  readonly workspaces: WorkspaceRow
}

/** Names are compared case-insensitively. */
export function normalizeName(name: string): string {
  return name.toLowerCase()
}

/** Index key of all bindings of a tag key, or of a key and value. */
export function tagKey(
  { organizationId, ownerType }: Pick<TagBindingRow, 'organizationId' | 'ownerType'>,
  key: string,
  value?: string,
): string {
  const group = `${organizationId}!${ownerType}!${key}`
  // `!` is in no key, so the parts cannot run together.
  return value === undefined ? group : `${group}!${value}`
}

export function policySetMemberIndexKey(policySetId: string, relation: PolicySetRelation): string {
  return `${policySetId}!${relation}`
}

/** The blob that holds a policy's code. */
export function policyCodeBlobKey(sha256: string): string {
  return `policy-code/${sha256}`
}

/**
 * Index key of the policy sets of an organization that apply without being attached to anything.
 */
export function unattachedSetKey(organizationId: string, scope: 'global' | 'tag'): string {
  return `${organizationId}!${scope}`
}

/** Index key of workspaces with drift checks. */
export const DRIFT_CHECKED_KEY = 'yes'

/** Index key of workspaces with a scheduled destroy time. */
export const SCHEDULED_KEY = 'yes'

function unattachedSetKeyOf(row: PolicySetRow): string | undefined {
  if (row.global) return unattachedSetKey(row.organizationId, 'global')
  return row.scopingType === 'tag' ? unattachedSetKey(row.organizationId, 'tag') : undefined
}

function nameKeyInOrganization(row: {
  readonly organizationId: string
  readonly name: string
}): string {
  return scopedKey(row.organizationId, normalizeName(row.name))
}

/**
 * Every table with rows of an organization has the index `organization`, by which the deletion of
 * an organization finds its rows (governance/organizations).
 */
export const GOVERNANCE_SPECS = {
  ...RUN_SPECS,
  api_tokens: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      secret: (row) => row.secretHash,
      owner: (row) => scopedKey(row.kind, row.ownerId),
      organization: (row) => row.organizationId ?? undefined,
    },
  },
  organization_memberships: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      user: (row) => row.userId,
      pair: (row) => scopedKey(row.organizationId, row.userId),
    },
  },
  organizations: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: { name: (row) => normalizeName(row.name) },
  },
  policy_codes: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      owner: (row) => row.ownerId,
      blob: (row) => policyCodeBlobKey(row.sha256),
    },
    blobIndex: 'blob',
  },
  policy_set_members: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => `${policySetMemberIndexKey(row.policySetId, row.relation)}!${row.memberId}`,
    indexes: {
      organization: organizationIdOf,
      set: (row) => row.policySetId,
      relation: (row) => policySetMemberIndexKey(row.policySetId, row.relation),
      member: (row) => scopedKey(row.relation, row.memberId),
    },
  },
  policy_set_parameters: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      set: (row) => row.policySetId,
      key: (row) => scopedKey(row.policySetId, row.key),
    },
  },
  policy_set_versions: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      set: (row) => row.policySetId,
      upload: (row) => row.upload?.keyHash,
    },
  },
  policy_sets: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      name: nameKeyInOrganization,
      broad: unattachedSetKeyOf,
      kind: (row) => scopedKey(row.organizationId, row.kind),
      versioned: (row) => scopedKey(row.organizationId, String(row.currentVersionId !== null)),
    },
  },
  project_namespaces: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.namespace,
    indexes: { organization: organizationIdOf, project: (row) => row.projectId },
  },
  projects: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: { organization: organizationIdOf, name: nameKeyInOrganization },
  },
  reserved_tag_keys: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      key: (row) => scopedKey(row.organizationId, row.key),
    },
  },
  run_policies: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      name: nameKeyInOrganization,
      kind: (row) => scopedKey(row.organizationId, row.kind),
    },
  },
  tag_bindings: {
    ...LARGE_SPEC_DEFAULTS,
    // Sorted by tag key within their owner.
    key: (row) => scopedKey(row.ownerId, row.key),
    indexes: {
      organization: organizationIdOf,
      owner: (row) => row.ownerId,
      tag: (row) => tagKey(row, row.key),
      pair: (row) => tagKey(row, row.key, row.value),
    },
  },
  team_memberships: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => scopedKey(row.teamId, row.membershipId),
    indexes: {
      organization: organizationIdOf,
      team: (row) => row.teamId,
      membership: (row) => row.membershipId,
      user: (row) => scopedKey(row.organizationId, row.userId),
    },
  },
  team_projects: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      team: (row) => row.teamId,
      project: (row) => row.projectId,
      pair: (row) => scopedKey(row.teamId, row.projectId),
    },
  },
  team_workspaces: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      team: (row) => row.teamId,
      workspace: (row) => row.workspaceId,
      pair: (row) => scopedKey(row.teamId, row.workspaceId),
      // A team that may read a workspace also sees its project.
      teamProject: (row) => scopedKey(row.teamId, row.projectId),
    },
  },
  teams: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: { organization: organizationIdOf, name: nameKeyInOrganization },
  },
  users: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      username: (row) => normalizeName(row.username),
      email: (row) => normalizeName(row.email),
      admin: (row) => (row.isAdmin ? 'yes' : undefined),
    },
  },
  variable_set_members: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => scopedKey(scopedKey(row.variableSetId, row.relation), row.memberId),
    indexes: {
      organization: organizationIdOf,
      set: (row) => row.variableSetId,
      member: (row) => scopedKey(row.relation, row.memberId),
    },
  },
  variable_set_variables: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      set: (row) => row.variableSetId,
      key: (row) => scopedKey(scopedKey(row.variableSetId, row.category), row.key),
    },
  },
  variable_sets: {
    ...GOVERNANCE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      project: (row) => row.projectId ?? undefined,
      name: (row) => scopedKey(row.projectId ?? row.organizationId, normalizeName(row.name)),
      global: (row) => (row.global ? row.organizationId : undefined),
    },
  },
  workspaces: {
    ...LARGE_SPEC_DEFAULTS,
    key: (row) => row.id,
    indexes: {
      organization: organizationIdOf,
      project: (row) => row.projectId,
      name: nameKeyInOrganization,
      scheduled: (row) => (row.autoDestroyAtMs === null ? undefined : SCHEDULED_KEY),
      driftChecked: (row) =>
        (row.driftCheckInterval ?? null) === null ? undefined : DRIFT_CHECKED_KEY,
    },
  },
} as const satisfies {
  readonly [N in keyof GovernanceRows]: Omit<TableSpec<GovernanceRows[N]>, 'name'>
}
