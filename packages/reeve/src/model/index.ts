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
  hasPlacementHold,
  isBatchType,
  isLargeJob,
  isParameterized,
  isParent,
  isSystemType,
  jobSizeProblem,
  jobSpecChanged,
  jobStatus,
  type JobSubmissionRow,
  jobUpdateProblem,
  placementHoldReason,
  placementPhase,
  type PlacementPhase,
  type VersionOrigin,
  withOrigin,
  withoutQuarantine,
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
  ZERO_TASK_EVENT,
  ZERO_TASK_STATE,
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
  parseConstraintVersion,
  parseVersionConstraint,
  targetReader,
} from './constraint/constraint.ts'
export {
  deviceConstraintMatcher,
  type DeviceMatcher,
  deviceNameMatcher,
} from './constraint/device-constraint.ts'
export { isEqual } from './deep-equal.ts'
export { annotateDiff, diffJobs, diffJobsSteps } from './diff/diff-jobs.ts'
export {
  affectsCounters,
  type AllocationChange,
  applyToCounters,
  failureReason,
  mergeReportedHealth,
} from './deployment/deployment-health.ts'
export {
  awaitsPromotion,
  decideRollback,
  DEPLOYMENT_DESCRIPTIONS,
  endDeployment,
  groupsAwaitingPromotion,
  groupStateOf,
  healthyCanaries,
  isActiveDeployment,
  isAutoPromote,
  isAwaitingPromotion,
  isCurrentDeployment,
  isDeploymentHealthy,
  isGroupHealthy,
  newDeployment,
  newGroupState,
  pauseDeployment,
  type ProgressDeadline,
  progressDeadlines,
  promoteGroups,
  promotionProblems,
  resumeDeployment,
  runningDescription,
  shouldAutoPromote,
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
  type AttributeProblem,
  type GovernanceRefusal,
  type GovernanceRefusalCode,
  invalidAttribute,
  invalidInput,
  NOT_FOUND,
  PERMISSION_DENIED,
  refusal,
  type Refusal,
  REFUSAL_CODES,
  REFUSAL_REASONS,
  type RefusalCode,
  refusalMessage,
  type RefusalReason,
} from './refusal.ts'
export { blockingWaitMs, LIMITS, PORT_MAX } from './limits.ts'
export { newEvaluation } from './new-evaluation.ts'
export {
  isSchedulable,
  type JoinLimits,
  type NewNodeEvent,
  nextNodeStatus,
  type NodeRow,
  nodeStub,
  type NodeStubOptions,
  nodeView,
  type PublicNode,
  triggersEvaluations,
  withNodeEvent,
} from './node/node.ts'
export { isNodeName, isNodePoolName, registrationProblem } from './node/registration-problem.ts'
export {
  canonicalSchedulerConfiguration,
  type ClusterLevelRow,
  DEFAULT_SCHEDULER_CONFIGURATION,
  isSchedulerAlgorithm,
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
  validateJobSteps,
} from './validation/validate-job.ts'
export { jobWarnings } from './validation/job-warnings.ts'
