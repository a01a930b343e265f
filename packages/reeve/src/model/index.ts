export { aclTokenStub, aclTokenView } from './acl-token-row.ts'
export type { AclTokenRow, OneTimeTokenRow } from './acl-token-row.ts'
export { withOrigin } from './job/version-origin.ts'
export type { VersionOrigin } from './job/version-origin.ts'
export { nextAttempt } from './allocation/next-attempt.ts'
export { failingField, remediesFor } from './allocation/remedies.ts'
export {
  allocationRecord,
  allocationStub,
  allocationView,
  assignedAllocation,
} from './allocation/allocation-view.ts'
export type { AllocationStubOptions, AllocationWithJob } from './allocation/allocation-view.ts'
export { allocationIndex, allocationName } from './allocation/allocation-row.ts'
export type { AllocationRow } from './allocation/allocation-row.ts'
export {
  addToUsage,
  chargeOf,
  deviceKey,
  NO_USAGE,
  peakDemand,
  portKey,
  removeFromUsage,
} from './allocation/node-usage.ts'
export type { ResourceCharge, NodeUsage, TaskDemand } from './allocation/node-usage.ts'
export type { UsageColumns } from './allocation/usage-columns.ts'
export {
  decodeTopScores,
  encodeTopScores,
  expandMetrics,
  SCORERS,
} from './allocation/stored-metrics.ts'
export type { StoredMetrics, StoredScore } from './allocation/stored-metrics.ts'
export { compactTaskStates, expandTaskStates } from './allocation/stored-task-states.ts'
export type { StoredTaskStates } from './allocation/stored-task-states.ts'
export { isClientTerminal, isServerTerminal, isTerminal } from './allocation/terminal.ts'
export {
  canonicalizeJob,
  canonicalizeJobSteps,
  jobWithDefaults,
} from './canonical/canonicalize-job.ts'
export { PARSE_DEFAULTS } from './canonical/canonicalize-job.ts'
export type { JobDefaults } from './canonical/canonicalize-job.ts'
export { DEFAULT_HOST_NETWORK } from './canonical/canonicalize-network.ts'
export { operandTest } from './constraint/operand.ts'
export { parseVersionConstraint, parseConstraintVersion } from './constraint/version.ts'
export type { OperandTest } from './constraint/operand.ts'
export { isUniqueTarget, targetReader } from './constraint/target.ts'
export type { NodeProperties, TargetReader } from './constraint/target.ts'
export { deviceNameMatcher, deviceConstraintMatcher } from './device/device-rule.ts'
export type { DeviceMatcher } from './device/device-rule.ts'
export { isEqual } from './deep-equal.ts'
export { annotateDiff } from './diff/annotate-diff.ts'
export type { DiffAnnotations } from './diff/annotate-diff.ts'
export { diffJobs, diffJobsSteps } from './diff/diff-jobs.ts'
export type { DiffOptions } from './diff/diff-jobs.ts'
export { applyToCounters, affectsCounters } from './deployment/counters.ts'
export type { AllocationChange } from './deployment/counters.ts'
export { failureReason } from './deployment/failure-reason.ts'
export {
  awaitsPromotion,
  DEPLOYMENT_DESCRIPTIONS,
  endDeployment,
  isActiveDeployment,
  isAutoPromote,
  runningDescription,
} from './deployment/deployment-status.ts'
export type { DeploymentEnd } from './deployment/deployment-status.ts'
export {
  groupStateOf,
  newDeployment,
  newGroupState,
  withGroupStates,
} from './deployment/new-deployment.ts'
export type { NewDeploymentOptions } from './deployment/new-deployment.ts'
export { isDeploymentHealthy, progressDeadlines } from './deployment/deadline.ts'
export type { ProgressDeadline } from './deployment/deadline.ts'
export { pauseDeployment, resumeDeployment } from './deployment/pause.ts'
export {
  blockOnOtherRegions,
  requireUnblock,
  isRegionalRollback,
  isAwaitingUnblock,
  newRegionDeployment,
  unblockDeployment,
} from './deployment/region-deployment.ts'
export {
  groupsAwaitingPromotion,
  healthyCanaries,
  promoteGroups,
  shouldAutoPromote,
  promotionProblems,
} from './deployment/promotion.ts'
export type { FindAllocation } from './deployment/promotion.ts'
export { decideRollback, isCurrentDeployment } from './deployment/rollback.ts'
export type { RollbackDecision } from './deployment/rollback.ts'
export { mergeReportedHealth } from './deployment/reported-health.ts'
export type { AllocationHealthReport } from './deployment/reported-health.ts'
export { isParameterized, isParent, jobSpecChanged, jobUpdateProblem } from './job/job-change.ts'
export { isLargeJob, jobSizeProblem } from './job/job-size.ts'
export { isBatchType, isSystemType } from './job/job-type.ts'
export { jobStatus } from './job/job-status.ts'
export type { JobStatusInputs } from './job/job-status.ts'
export { hasMultiregionStrategy, jobInRegion, multiregionProblem } from './job/region-job.ts'
export {
  placementHoldReason,
  hasPlacementHold,
  placementPhase,
  withoutQuarantine,
  type PlacementPhase,
} from './job/quarantine.ts'
export { jobStub } from './job/job-stub.ts'
export type { JobSubmissionRow } from './job/job-submission-row.ts'
export {
  newSummary,
  recountSummary,
  applyStatusChanges,
  countChild,
  withGroupsOf,
  withQueued,
} from './job/job-summary.ts'
export type { StatusChange } from './job/job-summary.ts'
export {
  dispatchedChild,
  dispatchedChildId,
  dispatchRefusal,
  type DispatchInput,
} from './launch/dispatch.ts'
export {
  lastLaunchMs,
  isActivePeriodic,
  launchRecordAfterUpdate,
  launchRecordAt,
  type PeriodicLaunchRow,
} from './launch/periodic-launch-row.ts'
export {
  decideLaunch,
  nextLaunchMs,
  periodicChild,
  type LaunchDecision,
  type OffsetAt,
} from './launch/periodic.ts'
export { scheduleWindow, type ScheduleWindow } from './launch/task-schedule.ts'
export {
  updateHostVolume,
  hostVolumeProblem,
  hostVolumeState,
  isHostPath,
  newHostVolume,
  volumePluginAttribute,
  volumePluginsOf,
  type VolumeOrigin,
} from './host-volume/host-volume.ts'
export { inactivityMs } from './governance/auto-destroy.ts'
export { governanceRecord } from './governance/governance-record.ts'
export {
  policyCheckRecord,
  policyEvaluationRecord,
  policySetOutcomeRecord,
  runRecord,
} from './governance/run-records.ts'
export * from './governance/rows.ts'
export type * from './governance/configuration-rows.ts'
export type * from './governance/notification-rows.ts'
export type * from './governance/run-rows.ts'
export type * from './governance/state-rows.ts'
export type * from './governance/variable-rows.ts'
export {
  invalidAttribute,
  REFUSAL_REASONS,
  refusalMessage,
  NOT_FOUND,
} from './governance/refusal.ts'
export type {
  AttributeProblem,
  GovernanceRefusal,
  GovernanceRefusalCode,
  RefusalReason,
} from './governance/refusal.ts'
export { blockingWaitMs } from './blocking-wait.ts'
export { LIMITS } from './limits.ts'
export { newEvaluation } from './new-evaluation.ts'
export { nodeView } from './node-row.ts'
export type { JoinLimits, NodeRow } from './node-row.ts'
export { nodeJoinTokenStub, nodeRevocationView } from './node/admission-rows.ts'
export type { NodeJoinTokenRow, NodeRevocationRow } from './node/admission-rows.ts'
export { triggersEvaluations, nextNodeStatus } from './node/next-node-status.ts'
export type { NodeSignal, NodeStatusInputs } from './node/next-node-status.ts'
export { withNodeEvent } from './node/node-event.ts'
export type { NewNodeEvent } from './node/node-event.ts'
export { nodeStub } from './node/node-stub.ts'
export type { NodeStubOptions, PublicNode } from './node/node-stub.ts'
export { isNodeName, isNodePoolName, registrationProblem } from './node/registration-problem.ts'
export { PERMISSION_DENIED, refusal, REFUSAL_CODES } from './refusal.ts'
export type { Refusal, RefusalCode } from './refusal.ts'
export {
  canonicalSchedulerConfiguration,
  DEFAULT_SCHEDULER_CONFIGURATION,
  isSchedulerAlgorithm,
} from './scheduler-configuration.ts'
export {
  scaleTargetProblem,
  scaleRequestProblem,
  withCount,
  type ScaleAction,
} from './scaling/scale-problem.ts'
export { scaleStatus } from './scaling/scale-status.ts'
export { withScalingEvent, type ScalingEventsRow } from './scaling/scaling-events-row.ts'
export { assignPolicyIds } from './scaling/settle-policies.ts'
export type {
  AclBootstrapRow,
  ClusterLevelRow,
  SchedulerConfigurationRow,
  SettingRow,
} from './setting-row.ts'
export { checkUuid, looseUuidPrefix, parseUuidPrefix } from './uuid-prefix.ts'
export type { UuidPrefix } from './uuid-prefix.ts'
export { belongsToWorkload, variablePathProblem } from './variable/variable-path.ts'
export type { Workload } from './variable/variable-path.ts'
export { lockState, parseLockTimes, lockTtlMs, lockDelayUntilMs } from './variable/variable-lock.ts'
export type { LockState } from './variable/variable-lock.ts'
export { variableMetadata } from './variable/variable-row.ts'
export type { VariableLockRow, VariableRow } from './variable/variable-row.ts'
export { jobIdProblems } from './validation/job-id.ts'
export { jobWarnings } from './validation/job-warnings.ts'
export { SYSTEM_SCALING_PROBLEM, validateJob, validateJobSteps } from './validation/validate-job.ts'
export type { JobProblem, JobProblems, ValidateJobOptions } from './validation/validate-job.ts'
