export {
  type AclTokenRow,
  aclTokenStub,
  aclTokenView,
  type NodeJoinTokenRow,
  nodeJoinTokenStub,
  type NodeRevocationRow,
  nodeRevocationView,
  type OneTimeTokenRow,
} from './token-rows.ts'
export {
  isBatchType,
  isLargeJob,
  isParameterized,
  isParent,
  isSystemType,
  jobSizeProblem,
  jobSpecChanged,
  jobStatus,
  type JobStatusInputs,
  type JobSubmissionRow,
  jobUpdateProblem,
  type VersionOrigin,
  withOrigin,
} from './job/job.ts'
export {
  FAILING_GROUPS,
  failingField,
  type FailingGroup,
  failingGroup,
  nextAttempt,
  remediesFor,
} from './allocation/failed-allocation.ts'
export {
  allocationRecord,
  allocationStub,
  allocationView,
  assignedAllocation,
} from './allocation/allocation-view.ts'
export type { AllocationStubOptions, AllocationWithJob } from './allocation/allocation-view.ts'
export {
  allocationIndex,
  allocationName,
  type AllocationRow,
  compactTaskStates,
  decodeTopScores,
  encodeTopScores,
  expandMetrics,
  expandTaskStates,
  isClientTerminal,
  isServerTerminal,
  isTerminal,
  SCORERS,
  type StoredMetrics,
  type StoredScore,
  type StoredTaskStates,
} from './allocation/allocation-row.ts'
export {
  addToUsage,
  chargeOf,
  deviceKey,
  NO_USAGE,
  type NodeUsage,
  peakDemand,
  portKey,
  removeFromUsage,
  type ResourceCharge,
  type TaskDemand,
  type UsageColumns,
} from './allocation/node-usage.ts'
export {
  canonicalizeJob,
  canonicalizeJobSteps,
  jobWithDefaults,
} from './canonical/canonicalize-job.ts'
export { PARSE_DEFAULTS } from './canonical/canonicalize-job.ts'
export type { JobDefaults } from './canonical/canonicalize-job.ts'
export { DEFAULT_HOST_NETWORK } from './canonical/canonicalize-blocks.ts'
export {
  isUniqueTarget,
  type NodeProperties,
  operandTest,
  type OperandTest,
  parseConstraintVersion,
  parseVersionConstraint,
  targetReader,
  type TargetReader,
} from './constraint/constraint.ts'
export {
  deviceConstraintMatcher,
  type DeviceMatcher,
  deviceNameMatcher,
} from './constraint/device-constraint.ts'
export { isEqual } from './deep-equal.ts'
export { annotateDiff } from './diff/annotate-diff.ts'
export type { DiffAnnotations } from './diff/annotate-diff.ts'
export { diffJobs, diffJobsSteps } from './diff/diff-jobs.ts'
export type { DiffOptions } from './diff/diff-jobs.ts'
export {
  affectsCounters,
  type AllocationChange,
  type AllocationHealthReport,
  applyToCounters,
  failureReason,
  mergeReportedHealth,
} from './deployment/deployment-health.ts'
export {
  awaitsPromotion,
  decideRollback,
  DEPLOYMENT_DESCRIPTIONS,
  type DeploymentEnd,
  endDeployment,
  groupStateOf,
  isActiveDeployment,
  isAutoPromote,
  isCurrentDeployment,
  isDeploymentHealthy,
  newDeployment,
  type NewDeploymentOptions,
  newGroupState,
  pauseDeployment,
  type ProgressDeadline,
  progressDeadlines,
  resumeDeployment,
  type RollbackDecision,
  runningDescription,
  withGroupStates,
} from './deployment/deployment.ts'
export {
  blockOnOtherRegions,
  hasMultiregionStrategy,
  isAwaitingUnblock,
  isRegionalRollback,
  jobInRegion,
  multiregionProblem,
  newRegionDeployment,
  requireUnblock,
  unblockDeployment,
} from './deployment/multiregion.ts'
export {
  groupsAwaitingPromotion,
  healthyCanaries,
  promoteGroups,
  shouldAutoPromote,
  promotionProblems,
} from './deployment/promotion.ts'
export type { FindAllocation } from './deployment/promotion.ts'
export {
  placementHoldReason,
  hasPlacementHold,
  placementPhase,
  withoutQuarantine,
  type PlacementPhase,
} from './job/quarantine.ts'
export {
  applyStatusChanges,
  countChild,
  jobStub,
  newSummary,
  recountSummary,
  type StatusChange,
  withGroupsOf,
  withQueued,
} from './job/job-summary.ts'
export {
  dispatchedChild,
  dispatchedChildId,
  dispatchRefusal,
  type DispatchInput,
} from './launch/dispatch.ts'
export {
  decideLaunch,
  isActivePeriodic,
  lastLaunchMs,
  type LaunchDecision,
  launchRecordAfterUpdate,
  launchRecordAt,
  nextLaunchMs,
  type OffsetAt,
  periodicChild,
  type PeriodicLaunchRow,
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
export { inactivityMs } from './governance/workspace-rows.ts'
export {
  governanceRecord,
  policyCheckRecord,
  policyEvaluationRecord,
  policySetOutcomeRecord,
  runRecord,
} from './governance/records.ts'
export * from './governance/rows.ts'
export type * from './governance/workspace-rows.ts'
export type * from './governance/run-rows.ts'
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
export { blockingWaitMs, LIMITS } from './limits.ts'
export { newEvaluation } from './new-evaluation.ts'
export {
  type JoinLimits,
  type NewNodeEvent,
  nextNodeStatus,
  type NodeRow,
  type NodeSignal,
  type NodeStatusInputs,
  nodeStub,
  type NodeStubOptions,
  nodeView,
  type PublicNode,
  triggersEvaluations,
  withNodeEvent,
} from './node/node.ts'
export { isNodeName, isNodePoolName, registrationProblem } from './node/registration-problem.ts'
export { PERMISSION_DENIED, refusal, REFUSAL_CODES } from './refusal.ts'
export type { Refusal, RefusalCode } from './refusal.ts'
export {
  type AclBootstrapRow,
  canonicalSchedulerConfiguration,
  type ClusterLevelRow,
  DEFAULT_SCHEDULER_CONFIGURATION,
  isSchedulerAlgorithm,
  type SchedulerConfigurationRow,
  type SettingRow,
} from './settings.ts'
export {
  assignPolicyIds,
  type ScaleAction,
  scaleRequestProblem,
  scaleStatus,
  scaleTargetProblem,
  type ScalingEventsRow,
  withCount,
  withScalingEvent,
} from './scaling/scaling.ts'
export { checkUuid, looseUuidPrefix, parseUuidPrefix } from './uuid-prefix.ts'
export type { UuidPrefix } from './uuid-prefix.ts'
export {
  belongsToWorkload,
  lockDelayUntilMs,
  lockState,
  type LockState,
  lockTtlMs,
  parseLockTimes,
  type VariableLockRow,
  variableMetadata,
  variablePathProblem,
  type VariableRow,
  type Workload,
} from './variable/variable.ts'
export {
  jobIdProblems,
  type JobProblem,
  type JobProblems,
  SYSTEM_SCALING_PROBLEM,
  validateJob,
  type ValidateJobOptions,
  validateJobSteps,
} from './validation/validate-job.ts'
export { jobWarnings } from './validation/job-warnings.ts'
