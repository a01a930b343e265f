import type {
  ApiTokenRow,
  BlobPartRow,
  ConfigurationVersionRow,
  OrganizationMembershipRow,
  OrganizationRow,
  PlanPartRow,
  PolicyCheckRow,
  PolicyCodeRow,
  PolicyEvaluationRow,
  PolicySetMemberRow,
  PolicySetOutcomeRow,
  PolicySetParameterRow,
  PolicySetRelation,
  PolicySetRow,
  PolicySetVersionRow,
  ProjectNamespaceRow,
  ProjectRow,
  ReservedTagKeyRow,
  RunFileRow,
  RunLogPartRow,
  RunPhaseRow,
  RunPlanRow,
  RunPolicyRow,
  RunRow,
  RunVariableRow,
  SetVariableRow,
  StateVersionRow,
  TagBindingRow,
  TaskStageRow,
  TeamMembershipRow,
  TeamProjectRow,
  TeamRow,
  TeamWorkspaceRow,
  UserRow,
  VariableSetMemberRow,
  VariableSetRow,
  WorkspaceRow,
} from '../model/index.ts'
import type { TableSpec } from './table.ts'

/** What the tables of the governance API hold. */
export interface GovernanceRows {
  readonly api_tokens: ApiTokenRow
  readonly blob_parts: BlobPartRow
  readonly configuration_versions: ConfigurationVersionRow
  readonly organization_memberships: OrganizationMembershipRow
  readonly organizations: OrganizationRow
  readonly plan_parts: PlanPartRow
  readonly policy_checks: PolicyCheckRow
  readonly policy_codes: PolicyCodeRow
  readonly policy_evaluations: PolicyEvaluationRow
  readonly policy_set_members: PolicySetMemberRow
  readonly policy_set_outcomes: PolicySetOutcomeRow
  readonly policy_set_parameters: PolicySetParameterRow
  readonly policy_set_versions: PolicySetVersionRow
  readonly policy_sets: PolicySetRow
  readonly project_namespaces: ProjectNamespaceRow
  readonly projects: ProjectRow
  readonly reserved_tag_keys: ReservedTagKeyRow
  readonly run_files: RunFileRow
  readonly run_log_parts: RunLogPartRow
  readonly run_phases: RunPhaseRow
  readonly run_plans: RunPlanRow
  readonly run_policies: RunPolicyRow
  readonly run_variables: RunVariableRow
  readonly runs: RunRow
  readonly state_versions: StateVersionRow
  readonly tag_bindings: TagBindingRow
  readonly task_stages: TaskStageRow
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

/** The group of a name within its organization. `!` is in no id. */
export function scopedKey(scope: string, name: string): string {
  return `${scope}!${name}`
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

/** The blob that holds an uploaded plan. */
export function planKey(planId: string): string {
  return `plan/${planId}`
}

/** The blob that holds a part of a plan. */
export function planPartKey(partId: string): string {
  return `plan-part/${partId}`
}

/** The blob that holds a part of the log of a run's phase. */
export function runLogPartKey(partId: string): string {
  return `run-log/${partId}`
}

/** Group of the runs that wait for their turn to plan or to apply. */
export const WAITING_RUNS = 'yes'

function isWaitingRun({ status, execution }: RunRow): boolean {
  return execution !== undefined && (status === 'pending' || status === 'confirmed')
}

/** Group of the phases that wait for their node or execute. */
export const OPEN_PHASES = 'yes'

/** Group of the phases that ended and whose jobs are to be stopped. */
export const KILLED_PHASES = 'yes'

/** Whether a phase waits for its node or executes. */
export function isOpenPhase({ status }: Pick<RunPhaseRow, 'status'>): boolean {
  return status === 'queued' || status === 'running'
}

/** The blob that holds a part of a sealed blob. */
export function blobPartKey(partId: string): string {
  return `blob-part/${partId}`
}

/** Group of the sets of an organization that apply without naming anything. */
export function broadSetGroup(organizationId: string, scope: 'global' | 'tag'): string {
  return `${organizationId}!${scope}`
}

const FAILED_CHECKS: ReadonlySet<PolicyCheckRow['status']> = new Set(['hard_failed', 'soft_failed'])

/** The group of the workspaces that have a time at which they are to be destroyed. */
export const SCHEDULED_WORKSPACES = 'yes'

function broadSet(row: PolicySetRow): string | undefined {
  if (row.global) return broadSetGroup(row.organizationId, 'global')
  return row.scopingType === 'tag' ? broadSetGroup(row.organizationId, 'tag') : undefined
}

function namedIn(row: { readonly organizationId: string; readonly name: string }): string {
  return scopedKey(row.organizationId, foldName(row.name))
}

function organization(row: { readonly organizationId: string }): string {
  return row.organizationId
}

function workspace(row: { readonly workspaceId: string }): string {
  return row.workspaceId
}

function run(row: { readonly runId: string }): string {
  return row.runId
}

/** Rows have their own times and are found by id; large tables are decoded as they are read. */
const plain = { byCreation: false, stamped: false, decodedRowsMax: 1_000_000 } as const
const large = { ...plain, decodedRowsMax: 20_000 } as const

/**
 * Every table of things in an organization has the index `organization`: the end of an organization
 * finds its rows by it (governance/organizations).
 */
export const GOVERNANCE_SPECS: {
  readonly [N in keyof GovernanceRows]: Omit<TableSpec<GovernanceRows[N]>, 'name'>
} = {
  api_tokens: {
    ...plain,
    key: (row) => row.id,
    groups: {
      secret: (row) => row.secretHash,
      owner: (row) => scopedKey(row.kind, row.ownerId),
      organization: (row) => row.organizationId ?? undefined,
    },
  },
  blob_parts: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      owner: (row) => row.ownerId,
      blob: (row) => blobPartKey(row.id),
    },
    blobGroup: 'blob',
  },
  configuration_versions: {
    ...large,
    key: (row) => row.id,
    groups: { organization, workspace, upload: (row) => row.upload.keyHash },
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
  plan_parts: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      plan: (row) => row.planId,
      blob: (row) => planPartKey(row.id),
    },
    blobGroup: 'blob',
  },
  policy_checks: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      failed: (row) => (FAILED_CHECKS.has(row.status) ? row.workspaceId : undefined),
    },
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
  policy_evaluations: {
    ...large,
    key: (row) => row.id,
    groups: { organization, workspace, run, stage: (row) => row.stageId },
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
  policy_set_outcomes: {
    ...large,
    key: (row) => row.id,
    groups: { organization, workspace, run, evaluation: (row) => row.evaluationId },
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
  run_files: { ...large, key: (row) => row.id, groups: { organization, workspace, run } },
  run_log_parts: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      phase: (row) => row.phaseId,
      blob: (row) => runLogPartKey(row.id),
    },
    blobGroup: 'blob',
  },
  run_phases: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      open: (row) => (isOpenPhase(row) ? OPEN_PHASES : undefined),
      killed: (row) =>
        row.cancellation === 'kill' && !isOpenPhase(row) ? KILLED_PHASES : undefined,
      openIn: (row) => (isOpenPhase(row) ? row.organizationId : undefined),
    },
  },
  run_plans: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      run,
      blob: (row) => (row.bytes === null ? undefined : planKey(row.id)),
    },
    blobGroup: 'blob',
  },
  run_policies: {
    ...large,
    key: (row) => row.id,
    groups: { organization, name: namedIn, kind: (row) => scopedKey(row.organizationId, row.kind) },
  },
  run_variables: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      key: (row) => scopedKey(scopedKey(row.workspaceId, row.category), row.key),
    },
  },
  runs: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      // The loop finds its work by it.
      status: (row) => row.status,
      workspaceStatus: (row) => scopedKey(row.workspaceId, row.status),
      waiting: (row) => (isWaitingRun(row) ? WAITING_RUNS : undefined),
      apply: (row) => row.execution?.applyId,
      configuration: (row) => row.configurationVersionId,
    },
  },
  state_versions: {
    ...large,
    key: (row) => row.id,
    groups: {
      organization,
      workspace,
      // The newest of these is the state of the workspace.
      finalized: (row) => (row.status === 'finalized' ? row.workspaceId : undefined),
      // A workspace with one of these is not unlocked.
      pending: (row) => (row.status === 'pending' ? row.workspaceId : undefined),
      run: (row) => row.runId ?? undefined,
      upload: (row) => row.upload?.keyHash,
      jsonUpload: (row) => row.jsonUpload?.keyHash,
    },
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
  task_stages: { ...large, key: (row) => row.id, groups: { organization, workspace, run } },
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
    },
  },
}
