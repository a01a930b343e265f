export {
  callerName,
  findCaller,
  findSecretOwner,
  findShownUser,
  isSiteAdministrator,
  siteCaller,
  usernameOf,
  type CallerIdentity,
  type GovernanceCaller,
  type ShownUser,
} from './caller.ts'
export { findAuditSeat, findStreamReader, type StreamReader } from './audit-readers.ts'
export { openGovernance, type GovernanceContext, type GovernanceHost } from './context.ts'
export { ListWarmer } from './warm-lists.ts'
export { suffixPart } from './ids.ts'
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
  findChangeableProject,
  findProject,
  findSeat,
  seatIn,
  type Seat,
  type SeenProject,
} from './standing.ts'
export {
  createOrganization,
  deleteOrganization,
  findOwnedOrganization,
  listOrganizations,
  mayCreateOrganizations,
  updateOrganization,
} from './organizations/organizations.ts'
export {
  acceptMembership,
  deleteMembership,
  findMembership,
  findMemberManager,
  inviteMember,
  listMemberships,
  ownMemberships,
} from './organizations/memberships.ts'
export { policyFile } from './policies/enforcement.ts'
export {
  findPolicy,
  findPolicySeat,
  type PolicyRight,
  type SeenPolicy,
} from './policies/find-policy.ts'
export { listPolicies } from './policies/list-policies.ts'
export {
  createPolicy,
  deletePolicy,
  draftPolicyProblems,
  updatePolicy,
} from './policies/policies.ts'
export { findPolicyCode, policyVersions, uploadPolicyCode } from './policies/policy-code.ts'
export { findPolicySet, type SeenPolicySet } from './policy-sets/find-policy-set.ts'
export { listPolicySets } from './policy-sets/list-policy-sets.ts'
export {
  createParameter,
  deleteParameter,
  findParameter,
  setParameters,
  updateParameter,
} from './policy-sets/parameters.ts'
export {
  changeSetMembers,
  createPolicySet,
  deletePolicySet,
  updatePolicySet,
} from './policy-sets/policy-sets.ts'
export { setMembers } from './policy-sets/set-members.ts'
export { changeTagSelectors } from './policy-sets/tag-selectors.ts'
export {
  createVersion,
  findVersion,
  setVersions,
  uploadVersion,
  uploadVersionByKey,
} from './policy-sets/versions.ts'
export {
  hasPolicies,
  readPolicyCode,
  setsForNamespace,
  type AppliedPolicy,
  needsOverrideComment,
  type AppliedSet,
  type PolicySource,
} from './policy-sets/applying-sets.ts'
export type { TagFilter } from './projects/find-tagged.ts'
export { listProjects } from './projects/list-projects.ts'
export { findDestination, moveWorkspaces } from './projects/move-workspaces.ts'
export { addProjectNamespaces, removeProjectNamespaces } from './projects/project-namespaces.ts'
export { changeProjectTags, findTaggableProject } from './projects/project-tags.ts'
export {
  createProject,
  deleteProject,
  findProjectMaker,
  updateProject,
} from './projects/projects.ts'
export {
  projectEffectiveTags,
  tagKeyProblems,
  tagsOf,
  workspaceEffectiveTags,
  type EffectiveTag,
} from './projects/tags.ts'
export {
  createReservedTagKey,
  deleteReservedTagKey,
  findManagedTagKey,
  findTagKeyManager,
  listReservedTagKeys,
  updateReservedTagKey,
  type SeenTagKey,
} from './reserved-tag-keys/reserved-tag-keys.ts'
export { changeTeamMembers, type MemberChange } from './teams/team-members.ts'
export {
  createTeam,
  deleteTeam,
  findTeam,
  findTeamMaker,
  findTeamWith,
  listTeams,
  updateTeam,
  type SeenTeam,
} from './teams/teams.ts'
export {
  createToken,
  findSingleToken,
  findToken,
  listTeamTokens,
  organizationTokenOwner,
  revokeToken,
  teamTokenOwner,
  tokensOf,
  userTokenOwner,
  type MadeToken,
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
  findSetMaker,
  findVariableSet,
  listVariableSets,
  setsOfProject,
  setsOfWorkspace,
  type SeenVariableSet,
} from './variable-sets/find-variable-set.ts'
export { variableSetMembers } from './variable-sets/set-members.ts'
export {
  createSetVariable,
  deleteSetVariable,
  findSetVariable,
  setVariables,
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
  type SeenWorkspace,
  type WorkspaceAddress,
} from './workspaces/find-workspace.ts'
export { listWorkspaces, type WorkspaceOrder } from './workspaces/list-workspaces.ts'
export {
  findLockable,
  forceUnlockWorkspace,
  lockWorkspace,
  shownHolder,
  unlockWorkspace,
} from './workspaces/workspace-locks.ts'
export { runsOf } from './workspaces/workspace-runs.ts'
export {
  addFlatTags,
  changeWorkspaceTags,
  findTaggableWorkspace,
  flatTagsOf,
  removeFlatTags,
} from './workspaces/workspace-tags.ts'
export {
  createWorkspace,
  findWorkspaceMaker,
  updateWorkspace,
  type WrittenWorkspace,
} from './workspaces/workspaces.ts'
export {
  archiveConfiguration,
  configurationsOf,
  createConfiguration,
  findConfiguration,
  readConfigurationArchive,
  type SeenConfiguration,
} from './configuration-versions/configuration-versions.ts'
export { createState, findStateWriter, type NewState } from './state-versions/create-state.ts'
export type { StateDigest } from './state-versions/inspect-state.ts'
export { rollBackState } from './state-versions/roll-back-state.ts'
export {
  findOutput,
  outputsOf,
  readDigest,
  type SeenOutput,
} from './state-versions/state-outputs.ts'
export {
  findCurrentState,
  findState,
  listStates,
  readStatePart,
  shownStatus,
  type SeenState,
  type StatePart,
} from './state-versions/state-versions.ts'
export { uploadJsonState, uploadState } from './state-versions/upload-state.ts'
export { uploadConfiguration } from './configuration-versions/upload-configuration.ts'
export { decideRun, findDecidable, reportRun } from './runs/decide-run.ts'
export { createRun } from './runs/create-run.ts'
export { listRuns, type RunFilter } from './runs/list-runs.ts'
export { evaluatePolicySet, evaluateWorkspacePolicies } from './runs/dry-run.ts'
export {
  checkOf,
  evaluationsOf,
  findApply,
  findCheck,
  findEvaluation,
  findPlan,
  findRun,
  findSetOutcome,
  findStage,
  outcomesOf,
  stageOf,
  type SeenCheck,
  type SeenRun,
  type SeenStage,
} from './runs/find-run.ts'
export { checkResultOf, dryRunStatusOf, shownSet } from './runs/judged-set.ts'
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
  type SeenRunTrigger,
} from './run-triggers/run-triggers.ts'
export {
  createNotificationConfiguration,
  deleteNotificationConfiguration,
  findNotificationConfiguration,
  listNotificationConfigurations,
  updateNotificationConfiguration,
  verifyNotificationConfiguration,
  type NotifyingContext,
} from './notifications/configurations.ts'
export { NotificationLoop } from './notifications/notification-loop.ts'
export {
  NO_WEBHOOKS,
  signature,
  SIGNATURE_HEADER,
  type Notifier,
  type WebhookAnswer,
  type WebhookRequest,
  type WebhookSender,
} from './notifications/send-notification.ts'
export { AutoDestroyLoop } from './projects/auto-destroy-loop.ts'
export { DriftLoop, driftOf } from './workspaces/drift-loop.ts'
export { RunLoop } from './runs/run-loop.ts'
export { isConfirmable, isDiscardable, isResting } from './runs/run-states.ts'
export {
  forceCancelMs,
  forceCancelRun,
  forceExecuteRun,
  isRunCancelable,
} from './runs/execution/cancel-run.ts'
export { findPhase, startPhase, type PhaseCall } from './runs/execution/phase-access.ts'
export { lostPhase } from './runs/execution/lost-phase.ts'
export { startedPhaseRows } from './runs/execution/phase-moves.ts'
export { applyOf } from './runs/execution/phase-rows.ts'
export { RUNNER_TASK, TICKET_ITEM, ticketPath } from './runs/execution/phase-ticket.ts'
export {
  finishPhase,
  readPhaseConfiguration,
  readRunFile,
  writePhaseFile,
  writePhaseLog,
} from './runs/execution/phase-results.ts'
export { readPhaseState, writePhaseState } from './runs/execution/phase-state.ts'
export { capacityOf, nextPhases, queuedRuns, queuePosition } from './runs/execution/queue.ts'
export { findLog, logKey, logLength, readLog } from './runs/execution/run-logs.ts'
export { tryPolicy } from './runs/try-policy.ts'
export { readShownPlan } from './runs/shown-plan.ts'
export { uploadPlan } from './runs/upload-plan.ts'
