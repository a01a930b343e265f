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
export type { Charge, NodeUsage, TaskDemand } from './allocation/node-usage.ts'
export type { UsageColumns } from './allocation/usage-columns.ts'
export { bestScores, bestText, metricsView, SCORERS } from './allocation/stored-metrics.ts'
export type { StoredMetrics, StoredScore } from './allocation/stored-metrics.ts'
export { storeTaskStates, taskStatesView } from './allocation/stored-task-states.ts'
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
export { parseVersionConstraint, readVersion } from './constraint/version.ts'
export type { OperandTest } from './constraint/operand.ts'
export { isUniqueTarget, targetReader } from './constraint/target.ts'
export type { NodeProperties, TargetReader } from './constraint/target.ts'
export { deviceNameTest, deviceTest } from './device/device-rule.ts'
export type { DeviceTest } from './device/device-rule.ts'
export { isEqual } from './deep-equal.ts'
export { annotateDiff } from './diff/annotate-diff.ts'
export type { DiffAnnotations } from './diff/annotate-diff.ts'
export { diffJobs, diffJobsSteps } from './diff/diff-jobs.ts'
export type { DiffOptions } from './diff/diff-jobs.ts'
export { countAllocations, movesCounters } from './deployment/counters.ts'
export type { AllocationChange } from './deployment/counters.ts'
export { failureReason } from './deployment/failure-reason.ts'
export {
  awaitsPromotion,
  DEPLOYMENT_TEXTS,
  endDeployment,
  isActiveDeployment,
  promotesItself,
  runningText,
} from './deployment/deployment-status.ts'
export type { DeploymentEnd } from './deployment/deployment-status.ts'
export {
  groupStateOf,
  newDeployment,
  newGroupState,
  withGroupStates,
} from './deployment/new-deployment.ts'
export type { DeploymentOptions } from './deployment/new-deployment.ts'
export { isRolledOut, progressDue } from './deployment/deadline.ts'
export type { ProgressDue } from './deployment/deadline.ts'
export { pauseDeployment, resumeDeployment } from './deployment/pause.ts'
export {
  completeInRegion,
  holdInRegion,
  isRegionalRollback,
  needsUnblocking,
  newRegionDeployment,
  unblockDeployment,
} from './deployment/region-deployment.ts'
export {
  groupsOnTrial,
  healthyCanaries,
  promoteGroups,
  promotesNow,
  promotionProblems,
} from './deployment/promotion.ts'
export type { FindAllocation } from './deployment/promotion.ts'
export { decideRollback, isRolledOutBy } from './deployment/rollback.ts'
export type { Rollback } from './deployment/rollback.ts'
export { reportedHealth } from './deployment/reported-health.ts'
export type { HealthReport } from './deployment/reported-health.ts'
export { isParameterized, isParent, jobSpecChanged, jobUpdateRefusal } from './job/job-change.ts'
export { isLargeJob, jobSizeProblem } from './job/job-size.ts'
export { isBatchType, isSystemType } from './job/job-type.ts'
export { jobStatus } from './job/job-status.ts'
export type { JobFacts } from './job/job-status.ts'
export { isCoordinated, jobInRegion, multiregionProblem } from './job/region-job.ts'
export {
  holdText,
  isHeldBack,
  placementPhase,
  withoutQuarantine,
  type PlacementPhase,
} from './job/quarantine.ts'
export { jobStub } from './job/job-stub.ts'
export type { JobSubmissionRow } from './job/job-submission-row.ts'
export {
  newSummary,
  recountSummary,
  summarize,
  withChild,
  withGroupsOf,
  withQueued,
} from './job/job-summary.ts'
export type { StatusChange } from './job/job-summary.ts'
export {
  dispatchedChild,
  dispatchedChildId,
  dispatchRefusal,
  type DispatchParts,
} from './launch/dispatch.ts'
export {
  doneMsOf,
  isLaunchedByTime,
  launchRecord,
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
  changedHostVolume,
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
export { invalid, REFUSAL_REASONS, refusalText, UNSEEN } from './governance/refusal.ts'
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
export { isStatusNews, nextNodeStatus } from './node/next-node-status.ts'
export type { NodeContact, NodeStatusFacts } from './node/next-node-status.ts'
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
  scaleProblem,
  scaleRequestProblem,
  withCount,
  type ScaleWish,
} from './scaling/scale-problem.ts'
export { scaleStatus } from './scaling/scale-status.ts'
export { withScalingEvent, type ScalingEventsRow } from './scaling/scaling-events-row.ts'
export { settlePolicies } from './scaling/settle-policies.ts'
export type {
  AclBootstrapRow,
  ClusterLevelRow,
  SchedulerConfigurationRow,
  SettingRow,
} from './setting-row.ts'
export { checkUuid, looseUuidPrefix, parseUuidPrefix } from './uuid-prefix.ts'
export type { UuidPrefix } from './uuid-prefix.ts'
export { isOwnVariable, variablePathProblem } from './variable/variable-path.ts'
export type { Workload } from './variable/variable-path.ts'
export { lockState, lockTimes, lockTtlMs, restsUntilMs } from './variable/variable-lock.ts'
export type { LockState } from './variable/variable-lock.ts'
export { variableMetadata } from './variable/variable-row.ts'
export type { VariableLockRow, VariableRow } from './variable/variable-row.ts'
export { jobIdProblems } from './validation/job-id.ts'
export { jobWarnings } from './validation/job-warnings.ts'
export { SYSTEM_SCALING, validateJob, validateJobSteps } from './validation/validate-job.ts'
export type { JobProblem, JobProblems, JobRules } from './validation/validate-job.ts'
