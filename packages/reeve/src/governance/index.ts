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
export { commitSystemWrite } from './commit.ts'
export {
  findAuditableOrganization,
  findEventStreamClient,
  findOrganization,
  findOrganizationById,
  findProject,
  findUpdatableProject,
  type VisibleOrganization,
  type VisibleProject,
} from './authorization.ts'
export {
  createGovernanceContext,
  type GovernanceContext,
  type GovernanceOptions,
  ListWarmer,
} from './context.ts'
export { idSuffixOf } from './ids.ts'
export {
  organizationPermissions,
  projectPermissions,
  teamPermissions,
  workspacePermissions,
  type ProjectRight,
} from './permissions.ts'
export {
  createProjectAccess,
  createWorkspaceAccess,
  deleteProjectAccess,
  deleteWorkspaceAccess,
  findProjectAccess,
  findWorkspaceAccess,
  listProjectAccesses,
  listWorkspaceAccesses,
  PROJECT_LEVELS,
  updateProjectAccess,
  updateWorkspaceAccess,
  WORKSPACE_LEVELS,
} from './access/team-access.ts'
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
export {
  createPolicy,
  deletePolicy,
  draftPolicyProblems,
  listPolicies,
  policyFileName,
  updatePolicy,
} from './policies/policies.ts'
export {
  findPolicy,
  findPolicyOrganization,
  findPolicySet,
  type VisiblePolicy,
  type VisiblePolicySet,
} from './policies/find-policy.ts'
export { findPolicyCode, listCodeVersions, uploadPolicyCode } from './policies/policy-code.ts'
export {
  changeSetMembers,
  createPolicySet,
  deletePolicySet,
  listPolicySets,
  updatePolicySet,
} from './policy-sets/policy-sets.ts'
export {
  createParameter,
  deleteParameter,
  findParameter,
  listParameters,
  updateParameter,
} from './policy-sets/parameters.ts'
export { changeTagSelectors, listMemberIds } from './policy-sets/scope.ts'
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
  needsOverrideComment,
} from './policy-sets/applicable-sets.ts'
export {
  addFlatTags,
  changeWorkspaceTags,
  type EffectiveTag,
  findTaggableWorkspace,
  listFlatTags,
  ownTags,
  projectEffectiveTags,
  removeFlatTags,
  type TagFilter,
  tagKeyProblems,
  workspaceEffectiveTags,
} from './tags/tags.ts'
export {
  changeProjectTags,
  createProject,
  deleteProject,
  findOrganizationForNewProject,
  findTaggableProject,
  listProjects,
  updateProject,
} from './projects/projects.ts'
export { findMoveDestination, moveWorkspaces } from './workspaces/move-workspaces.ts'
export { addProjectNamespaces, removeProjectNamespaces } from './projects/project-namespaces.ts'
export {
  createReservedTagKey,
  deleteReservedTagKey,
  findManagedTagKey,
  findOrganizationToManageTagKeys,
  listReservedTagKeys,
  updateReservedTagKey,
  type VisibleTagKey,
} from './tags/reserved-tag-keys.ts'
export {
  changeTeamMembers,
  createTeam,
  deleteTeam,
  findOrganizationForNewTeam,
  findTeam,
  findTeamWith,
  listTeams,
  type TeamMemberChange,
  updateTeam,
  type VisibleTeam,
} from './teams.ts'
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
} from './tokens.ts'
export { createUser, deleteUser, findVisibleUser, listUsers, updateAccount } from './users.ts'
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
  changeVariableSetMembers,
  createSetVariable,
  createVariableSet,
  deleteSetVariable,
  deleteVariableSet,
  findSetVariable,
  listSetVariables,
  updateSetVariable,
  updateVariableSet,
} from './variable-sets/variable-sets.ts'
export {
  createWorkspace,
  deleteWorkspace,
  findOrganizationForNewWorkspace,
  safeDeleteWorkspace,
  updateWorkspace,
  type WorkspaceWriteResult,
} from './workspaces/workspaces.ts'
export {
  findWorkspace,
  findWorkspaceWith,
  type VisibleWorkspace,
  type WorkspaceAddress,
} from './workspaces/find-workspace.ts'
export { listWorkspaces, summarizeRuns, type WorkspaceOrder } from './workspaces/list-workspaces.ts'
export {
  changeRemoteStateConsumers,
  listRemoteStateConsumers,
  readRemoteState,
  remoteStateSharing,
  type RemoteStateConsumersChange,
} from './workspaces/remote-state.ts'
export {
  findWorkspaceToLock,
  forceUnlockWorkspace,
  lockWorkspace,
  visibleLockHolder,
  unlockWorkspace,
} from './workspaces/workspace-locks.ts'
export {
  archiveConfiguration,
  configurationsOf,
  createConfiguration,
  findConfiguration,
  readConfigurationArchive,
} from './configuration-versions/configuration-versions.ts'
export {
  type CreatedState,
  createState,
  findStateWriter,
  rollBackState,
} from './state-versions/create-state.ts'
export type { StateDigest } from './state-versions/inspect-state.ts'
export {
  findCurrentState,
  findOutput,
  findState,
  listStateOutputs,
  listStates,
  publicStatus,
  readDigest,
  readStatePart,
  type StatePart,
  type VisibleOutput,
  type VisibleState,
} from './state-versions/state-versions.ts'
export { uploadJsonState, uploadState } from './state-versions/store-state.ts'
export { uploadConfiguration } from './configuration-versions/upload-configuration.ts'
export {
  findRunForAction,
  forceCancelAllowedMs,
  forceCancelRun,
  forceExecuteRun,
  isRunCancelable,
  performRunAction,
  reportApplyResult,
} from './runs/run-actions.ts'
export { createRun } from './runs/create-run.ts'
export {
  findApply,
  findCheck,
  findEvaluation,
  findPlan,
  findPolicyCheck,
  findRun,
  findSetOutcome,
  findStage,
  findTaskStage,
  listEvaluations,
  listOutcomes,
  listRuns,
  type RunFilter,
  type VisibleCheck,
  type VisibleRun,
  type VisibleStage,
} from './runs/find-run.ts'
export { evaluatePolicySet, evaluateWorkspacePolicies, tryPolicy } from './runs/dry-run.ts'
export { policyCheckResult, dryRunStatus, toPolicySetVerdict } from './runs/record-evaluation.ts'
export {
  isCheckOverridable,
  isStageOverridable,
  overrideCheck,
  overrideStage,
} from './runs/overrides.ts'
export { replayPolicy } from './runs/replay.ts'
export {
  createRunTrigger,
  deleteRunTrigger,
  findRunTrigger,
  listRunTriggers,
  type VisibleRunTrigger,
} from './run-triggers.ts'
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
export { AutoDestroyLoop, DriftLoop, latestDrift } from './workspaces/scheduled-runs.ts'
export { RunWorker } from './runs/run-worker.ts'
export { isConfirmable, isDiscardable, isIdle } from './runs/run-status.ts'
export {
  findPhase,
  type PhaseCall,
  readPhaseState,
  RUNNER_TASK,
  startPhase,
  TICKET_ITEM,
  ticketPath,
  writePhaseState,
} from './runs/execution/phase-access.ts'
export { recordLostPhase, startPhaseChanges } from './runs/execution/phase-moves.ts'
export { toRunApply } from './runs/run-changes.ts'
export {
  finishPhase,
  readPhaseConfiguration,
  readRunFile,
  writePhaseFile,
  writePhaseLog,
} from './runs/execution/phase-results.ts'
export { queueCounts, nextPhases, queuedRuns, queuePosition } from './runs/execution/queue.ts'
export { openLogKey, createLogKey, logLength, readLog } from './runs/execution/run-logs.ts'
export { readRedactedPlan, uploadPlan } from './runs/plans.ts'
