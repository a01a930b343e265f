export { aclTokenStub, aclTokenView } from './acl-token-row.ts'
export type { AclTokenRow, OneTimeTokenRow } from './acl-token-row.ts'
export { allocationRecord, allocationStub, allocationView } from './allocation/allocation-view.ts'
export type { AllocationStubOptions, AllocationWithJob } from './allocation/allocation-view.ts'
export { allocationIndex, allocationName } from './allocation/allocation-row.ts'
export type { AllocationRow } from './allocation/allocation-row.ts'
export {
  addToUsage,
  chargeOf,
  NO_USAGE,
  peakDemand,
  portKey,
  removeFromUsage,
} from './allocation/node-usage.ts'
export type { Charge, NodeUsage, TaskDemand } from './allocation/node-usage.ts'
export { metricsView, SCORERS } from './allocation/stored-metrics.ts'
export type { StoredMetrics, StoredScore } from './allocation/stored-metrics.ts'
export { storeTaskStates, taskStatesView } from './allocation/stored-task-states.ts'
export type { StoredTaskStates } from './allocation/stored-task-states.ts'
export { isClientTerminal, isServerTerminal, isTerminal } from './allocation/terminal.ts'
export { canonicalizeJob, PARSE_DEFAULTS } from './canonical/canonicalize-job.ts'
export type { JobDefaults } from './canonical/canonicalize-job.ts'
export { DEFAULT_HOST_NETWORK } from './canonical/canonicalize-network.ts'
export { operandTest } from './constraint/operand.ts'
export type { OperandTest } from './constraint/operand.ts'
export { isUniqueTarget, targetReader } from './constraint/target.ts'
export type { NodeProperties, TargetReader } from './constraint/target.ts'
export { isEqual } from './deep-equal.ts'
export { isParameterized, jobSpecChanged, jobUpdateRefusal } from './job/job-change.ts'
export { jobStatus } from './job/job-status.ts'
export type { JobFacts } from './job/job-status.ts'
export { jobStub } from './job/job-stub.ts'
export {
  newSummary,
  recountSummary,
  summarize,
  withChild,
  withGroupsOf,
  withQueued,
} from './job/job-summary.ts'
export type { StatusChange } from './job/job-summary.ts'
export { LIMITS } from './limits.ts'
export { newEvaluation } from './new-evaluation.ts'
export { nodeView } from './node-row.ts'
export type { NodeRow } from './node-row.ts'
export { nodeStub } from './node/node-stub.ts'
export type { NodeStubOptions, PublicNode } from './node/node-stub.ts'
export { PERMISSION_DENIED, refusal, REFUSAL_CODES } from './refusal.ts'
export type { Refusal, RefusalCode } from './refusal.ts'
export type { AclBootstrapRow, SettingRow } from './setting-row.ts'
export { checkUuid, parseUuidPrefix } from './uuid-prefix.ts'
export type { UuidPrefix } from './uuid-prefix.ts'
export { checkCronShape } from './validation/cron-shape.ts'
export { jobWarnings } from './validation/job-warnings.ts'
export { SYSTEM_SCALING, validateJob } from './validation/validate-job.ts'
export type { JobProblem, JobProblems, JobRules } from './validation/validate-job.ts'
