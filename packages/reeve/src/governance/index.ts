export {
  callerName,
  findCaller,
  findTokenOwnerId,
  findPublicUser,
  isSiteAdministrator,
  siteAdministratorCaller,
  usernameOf,
  type CallerIdentity,
  type GovernanceCaller,
  type PublicUser,
} from './caller.ts'
export {
  findAuditableOrganization,
  findEventStreamClient,
  type EventStreamClient,
} from './audit-readers.ts'
export {
  createGovernanceContext,
  type GovernanceContext,
  type GovernanceOptions,
} from './context.ts'
export { ListWarmer } from './warm-lists.ts'
export { idSuffixOf } from './ids.ts'
export {
  organizationPermissions,
  projectPermissions,
  teamPermissions,
  workspacePermissions,
  type ProjectRight,
} from './permissions.ts'
export { PROJECT_LEVELS, WORKSPACE_LEVELS } from './access/levels.ts'
export {
  createProjectAccess,
  deleteProjectAccess,
  findProjectAccess,
  listProjectAccesses,
  updateProjectAccess,
} from './access/team-projects.ts'
export {
  createWorkspaceAccess,
  deleteWorkspaceAccess,
  findWorkspaceAccess,
  listWorkspaceAccesses,
  updateWorkspaceAccess,
} from './access/team-workspaces.ts'
export {
  findUpdatableProject,
  findProject,
  findOrganization,
  findOrganizationById,
  type VisibleOrganization,
  type VisibleProject,
} from './standing.ts'
export {
  createOrganization,
  deleteOrganization,
  findUpdatableOrganization,
  listOrganizations,
  mayCreateOrganizations,
  updateOrganization,
} from './organizations/organizations.ts'
export {
  acceptMembership,
  deleteMembership,
  findMembership,
  findOrganizationToManageMembers,
  inviteMember,
  listMemberships,
  listOwnMemberships,
} from './organizations/memberships.ts'
export { policyFileName } from './policies/enforcement.ts'
export {
  findPolicy,
  findPolicyOrganization,
  type PolicyRight,
  type VisiblePolicy,
} from './policies/find-policy.ts'
export { listPolicies } from './policies/list-policies.ts'
export {
  createPolicy,
  deletePolicy,
  draftPolicyProblems,
  updatePolicy,
} from './policies/policies.ts'
export { findPolicyCode, listCodeVersions, uploadPolicyCode } from './policies/policy-code.ts'
export { findPolicySet, type VisiblePolicySet } from './policy-sets/find-policy-set.ts'
export { listPolicySets } from './policy-sets/list-policy-sets.ts'
export {
  createParameter,
  deleteParameter,
  findParameter,
  listParameters,
  updateParameter,
} from './policy-sets/parameters.ts'
export {
  changeSetMembers,
  createPolicySet,
  deletePolicySet,
  updatePolicySet,
} from './policy-sets/policy-sets.ts'
export { listMemberIds } from './policy-sets/set-members.ts'
export { changeTagSelectors } from './policy-sets/tag-selectors.ts'
export {
  createVersion,
  findVersion,
  listVersions,
  uploadVersion,
  uploadVersionByKey,
} from './policy-sets/versions.ts'
export {
  hasPolicySets,
  readPolicyCode,
  setsForNamespace,
  type ApplicablePolicy,
  needsOverrideComment,
  type ApplicablePolicySet,
  type PolicySetReader,
} from './policy-sets/applying-sets.ts'
export type { TagFilter } from './projects/find-tagged.ts'
export { listProjects } from './projects/list-projects.ts'
export { findMoveDestination, moveWorkspaces } from './projects/move-workspaces.ts'
export { addProjectNamespaces, removeProjectNamespaces } from './projects/project-namespaces.ts'
export { changeProjectTags, findTaggableProject } from './projects/project-tags.ts'
export {
  createProject,
  deleteProject,
  findOrganizationForNewProject,
  updateProject,
} from './projects/projects.ts'
export {
  projectEffectiveTags,
  tagKeyProblems,
  ownTags,
  workspaceEffectiveTags,
  type EffectiveTag,
} from './projects/tags.ts'
export {
  createReservedTagKey,
  deleteReservedTagKey,
  findManagedTagKey,
  findOrganizationToManageTagKeys,
  listReservedTagKeys,
  updateReservedTagKey,
  type VisibleTagKey,
} from './reserved-tag-keys/reserved-tag-keys.ts'
export { changeTeamMembers, type TeamMemberChange } from './teams/team-members.ts'
export {
  createTeam,
  deleteTeam,
  findTeam,
  findOrganizationForNewTeam,
  findTeamWith,
  listTeams,
  updateTeam,
  type VisibleTeam,
} from './teams/teams.ts'
export {
  createToken,
  findUnnamedToken,
  findToken,
  listTeamTokens,
  organizationTokenOwner,
  revokeToken,
  teamTokenOwner,
  tokensOf,
  userTokenOwner,
  type CreatedToken,
  type TokenOwner,
} from './tokens/tokens.ts'
export { createUser, deleteUser, findVisibleUser, listUsers, updateAccount } from './users/users.ts'
export {
  createVariable,
  deleteVariable,
  findVariable,
  listEffectiveVariables,
  listVariables,
  updateVariable,
} from './variables/variables.ts'
export type { EffectiveVariable } from './variables/effective-variables.ts'
export {
  findOrganizationForNewVariableSet,
  findVariableSet,
  listVariableSets,
  setsOfProject,
  setsOfWorkspace,
  type VisibleVariableSet,
} from './variable-sets/find-variable-set.ts'
export { variableSetMembers } from './variable-sets/set-members.ts'
export {
  createSetVariable,
  deleteSetVariable,
  findSetVariable,
  listSetVariables,
  updateSetVariable,
} from './variable-sets/set-variables.ts'
export {
  changeVariableSetMembers,
  createVariableSet,
  deleteVariableSet,
  updateVariableSet,
} from './variable-sets/variable-sets.ts'
export { deleteWorkspace, safeDeleteWorkspace } from './workspaces/delete-workspace.ts'
export {
  findWorkspace,
  findWorkspaceWith,
  type VisibleWorkspace,
  type WorkspaceAddress,
} from './workspaces/find-workspace.ts'
export { listWorkspaces, type WorkspaceOrder } from './workspaces/list-workspaces.ts'
export {
  findWorkspaceToLock,
  forceUnlockWorkspace,
  lockWorkspace,
  visibleLockHolder,
  unlockWorkspace,
} from './workspaces/workspace-locks.ts'
export { summarizeRuns } from './workspaces/workspace-runs.ts'
export {
  addFlatTags,
  changeWorkspaceTags,
  findTaggableWorkspace,
  listFlatTags,
  removeFlatTags,
} from './workspaces/workspace-tags.ts'
export {
  createWorkspace,
  findOrganizationForNewWorkspace,
  updateWorkspace,
  type WorkspaceWriteResult,
} from './workspaces/workspaces.ts'
export {
  archiveConfiguration,
  configurationsOf,
  createConfiguration,
  findConfiguration,
  readConfigurationArchive,
  type VisibleConfiguration,
} from './configuration-versions/configuration-versions.ts'
export { createState, findStateWriter, type CreatedState } from './state-versions/create-state.ts'
export type { StateDigest } from './state-versions/inspect-state.ts'
export { rollBackState } from './state-versions/roll-back-state.ts'
export {
  findOutput,
  listStateOutputs,
  readDigest,
  type VisibleOutput,
} from './state-versions/state-outputs.ts'
export {
  findCurrentState,
  findState,
  listStates,
  readStatePart,
  publicStatus,
  type VisibleState,
  type StatePart,
} from './state-versions/state-versions.ts'
export { uploadJsonState, uploadState } from './state-versions/upload-state.ts'
export { uploadConfiguration } from './configuration-versions/upload-configuration.ts'
export { performRunAction, findRunForAction, reportApplyResult } from './runs/decide-run.ts'
export { createRun } from './runs/create-run.ts'
export { listRuns, type RunFilter } from './runs/list-runs.ts'
export { evaluatePolicySet, evaluateWorkspacePolicies } from './runs/dry-run.ts'
export {
  findPolicyCheck,
  listEvaluations,
  findApply,
  findCheck,
  findEvaluation,
  findPlan,
  findRun,
  findSetOutcome,
  findStage,
  listOutcomes,
  findTaskStage,
  type VisibleCheck,
  type VisibleRun,
  type VisibleStage,
} from './runs/find-run.ts'
export { policyCheckResult, dryRunStatus, toPolicySetVerdict } from './runs/judged-set.ts'
export {
  isCheckOverridable,
  isStageOverridable,
  overrideCheck,
  overrideStage,
} from './runs/override-policies.ts'
export { replayPolicy } from './runs/replay-policy.ts'
export {
  createRunTrigger,
  deleteRunTrigger,
  findRunTrigger,
  listRunTriggers,
  type VisibleRunTrigger,
} from './run-triggers/run-triggers.ts'
export {
  createNotificationConfiguration,
  deleteNotificationConfiguration,
  findNotificationConfiguration,
  listNotificationConfigurations,
  updateNotificationConfiguration,
  verifyNotificationConfiguration,
  type NotificationContext,
} from './notifications/configurations.ts'
export { NotificationLoop } from './notifications/notification-loop.ts'
export {
  UNSUPPORTED_WEBHOOKS,
  signBody,
  SIGNATURE_HEADER,
  type Notifier,
  type WebhookResponse,
  type WebhookRequest,
  type WebhookSender,
} from './notifications/send-notification.ts'
export { AutoDestroyLoop } from './projects/auto-destroy-loop.ts'
export { DriftLoop, latestDrift } from './workspaces/drift-loop.ts'
export { RunWorker } from './runs/run-loop.ts'
export { isConfirmable, isDiscardable, isIdle } from './runs/run-states.ts'
export {
  forceCancelAllowedMs,
  forceCancelRun,
  forceExecuteRun,
  isRunCancelable,
} from './runs/execution/cancel-run.ts'
export { findPhase, startPhase, type PhaseCall } from './runs/execution/phase-access.ts'
export { recordLostPhase } from './runs/execution/lost-phase.ts'
export { startPhaseChanges } from './runs/execution/phase-moves.ts'
export { toRunApply } from './runs/execution/phase-rows.ts'
export { RUNNER_TASK, TICKET_ITEM, ticketPath } from './runs/execution/phase-ticket.ts'
export {
  finishPhase,
  readPhaseConfiguration,
  readRunFile,
  writePhaseFile,
  writePhaseLog,
} from './runs/execution/phase-results.ts'
export { readPhaseState, writePhaseState } from './runs/execution/phase-state.ts'
export { queueCounts, nextPhases, queuedRuns, queuePosition } from './runs/execution/queue.ts'
export { openLogKey, createLogKey, logLength, readLog } from './runs/execution/run-logs.ts'
export { tryPolicy } from './runs/try-policy.ts'
export { readRedactedPlan } from './runs/shown-plan.ts'
export { uploadPlan } from './runs/upload-plan.ts'
