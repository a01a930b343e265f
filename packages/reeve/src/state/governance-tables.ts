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
} from '../model/index.ts'
import { large, organization, plain, RUN_SPECS, scopedKey, type RunRows } from './run-tables.ts'
import type { TableSpec } from './table.ts'

/** What the tables of the governance API hold. */
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

/** Case does not tell names apart. */
export function foldName(name: string): string {
  return name.toLowerCase()
}

/** Group of all bindings of a key; with a value, of all bindings of the pair. */
export function tagKey(
  { organizationId, ownerType }: Pick<TagBindingRow, 'organizationId' | 'ownerType'>,
  key: string,
  value?: string,
): string {
  const group = `${organizationId}!${ownerType}!${key}`
  // `!` is in no key, so the parts cannot run together.
  return value === undefined ? group : `${group}!${value}`
}

export function policySetMemberGroup(policySetId: string, relation: PolicySetRelation): string {
  return `${policySetId}!${relation}`
}

/** The blob that holds a policy's code. */
export function policyCodeKey(sha256: string): string {
  return `policy-code/${sha256}`
}

/** Group of the sets of an organization that apply without naming anything. */
export function broadSetGroup(organizationId: string, scope: 'global' | 'tag'): string {
  return `${organizationId}!${scope}`
}

/** The group of the workspaces that are checked for drift. */
export const DRIFT_CHECKED_WORKSPACES = 'yes'

/** The group of the workspaces that have a time at which they are to be destroyed. */
export const SCHEDULED_WORKSPACES = 'yes'

function broadSet(row: PolicySetRow): string | undefined {
  if (row.global) return broadSetGroup(row.organizationId, 'global')
  return row.scopingType === 'tag' ? broadSetGroup(row.organizationId, 'tag') : undefined
}

function namedIn(row: { readonly organizationId: string; readonly name: string }): string {
  return scopedKey(row.organizationId, foldName(row.name))
}

/**
 * Every table of things in an organization has the index `organization`: the end of an organization
 * finds its rows by it (governance/organizations).
 */
export const GOVERNANCE_SPECS: {
  readonly [N in keyof GovernanceRows]: Omit<TableSpec<GovernanceRows[N]>, 'name'>
} = {
  ...RUN_SPECS,
  api_tokens: {
    ...plain,
    key: (row) => row.id,
    groups: {
      secret: (row) => row.secretHash,
      owner: (row) => scopedKey(row.kind, row.ownerId),
      organization: (row) => row.organizationId ?? undefined,
    },
  },
  organization_memberships: {
    ...plain,
    key: (row) => row.id,
    groups: {
      organization,
      user: (row) => row.userId,
      pair: (row) => scopedKey(row.organizationId, row.userId),
    },
  },
  organizations: {
    ...plain,
    key: (row) => row.id,
    groups: { name: (row) => foldName(row.name) },
  },
  policy_codes: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      owner: (row) => row.ownerId,
      blob: (row) => policyCodeKey(row.sha256),
    },
    blobGroup: 'blob',
  },
  policy_set_members: {
    ...large,
    key: (row) => `${policySetMemberGroup(row.policySetId, row.relation)}!${row.memberId}`,
    groups: {
      organization,
      set: (row) => row.policySetId,
      relation: (row) => policySetMemberGroup(row.policySetId, row.relation),
      member: (row) => scopedKey(row.relation, row.memberId),
    },
  },
  policy_set_parameters: {
    ...plain,
    key: (row) => row.id,
    groups: {
      organization,
      set: (row) => row.policySetId,
      key: (row) => scopedKey(row.policySetId, row.key),
    },
  },
  policy_set_versions: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      set: (row) => row.policySetId,
      upload: (row) => row.upload?.keyHash,
    },
  },
  policy_sets: {
    ...plain,
    key: (row) => row.id,
    groups: {
      organization,
      name: namedIn,
      broad: broadSet,
      kind: (row) => scopedKey(row.organizationId, row.kind),
      versioned: (row) => scopedKey(row.organizationId, String(row.currentVersionId !== null)),
    },
  },
  project_namespaces: {
    ...plain,
    key: (row) => row.namespace,
    groups: { organization, project: (row) => row.projectId },
  },
  projects: { ...large, key: (row) => row.id, groups: { organization, name: namedIn } },
  reserved_tag_keys: {
    ...plain,
    key: (row) => row.id,
    groups: { organization, key: (row) => scopedKey(row.organizationId, row.key) },
  },
  run_policies: {
    ...large,
    key: (row) => row.id,
    groups: { organization, name: namedIn, kind: (row) => scopedKey(row.organizationId, row.kind) },
  },
  tag_bindings: {
    ...large,
    // In the order of their keys within their owner.
    key: (row) => scopedKey(row.ownerId, row.key),
    groups: {
      organization,
      owner: (row) => row.ownerId,
      tag: (row) => tagKey(row, row.key),
      pair: (row) => tagKey(row, row.key, row.value),
    },
  },
  team_memberships: {
    ...large,
    key: (row) => scopedKey(row.teamId, row.membershipId),
    groups: {
      organization,
      team: (row) => row.teamId,
      membership: (row) => row.membershipId,
      user: (row) => scopedKey(row.organizationId, row.userId),
    },
  },
  team_projects: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      team: (row) => row.teamId,
      project: (row) => row.projectId,
      pair: (row) => scopedKey(row.teamId, row.projectId),
    },
  },
  team_workspaces: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      team: (row) => row.teamId,
      workspace: (row) => row.workspaceId,
      pair: (row) => scopedKey(row.teamId, row.workspaceId),
      // Who may read a workspace sees the project it is in.
      teamProject: (row) => scopedKey(row.teamId, row.projectId),
    },
  },
  teams: { ...plain, key: (row) => row.id, groups: { organization, name: namedIn } },
  users: {
    ...plain,
    key: (row) => row.id,
    groups: {
      username: (row) => foldName(row.username),
      email: (row) => foldName(row.email),
      admin: (row) => (row.isAdmin ? 'yes' : undefined),
    },
  },
  variable_set_members: {
    ...large,
    key: (row) => scopedKey(scopedKey(row.variableSetId, row.relation), row.memberId),
    groups: {
      organization,
      set: (row) => row.variableSetId,
      member: (row) => scopedKey(row.relation, row.memberId),
    },
  },
  variable_set_variables: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      set: (row) => row.variableSetId,
      key: (row) => scopedKey(scopedKey(row.variableSetId, row.category), row.key),
    },
  },
  variable_sets: {
    ...plain,
    key: (row) => row.id,
    groups: {
      organization,
      project: (row) => row.projectId ?? undefined,
      name: (row) => scopedKey(row.projectId ?? row.organizationId, foldName(row.name)),
      global: (row) => (row.global ? row.organizationId : undefined),
    },
  },
  workspaces: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      project: (row) => row.projectId,
      name: namedIn,
      scheduled: (row) => (row.autoDestroyAtMs === null ? undefined : SCHEDULED_WORKSPACES),
      driftChecked: (row) =>
        (row.driftCheckInterval ?? null) === null ? undefined : DRIFT_CHECKED_WORKSPACES,
    },
  },
}
