export { Authenticator, createOneTimeToken, exchangeOneTimeToken } from './acl/authenticate.ts'
export {
  ANONYMOUS_TOKEN,
  bootstrapAcl,
  checkTokenReader,
  deleteToken,
  tokenFilterView,
  tokenStub,
  tokenWithSecret,
  type TokenWriteResult,
  writeToken,
} from './acl/tokens.ts'
export {
  deletePolicy,
  deleteRole,
  mayReadPolicy,
  policyNamesOfCaller,
  ROLE_NOT_FOUND,
  visiblePolicies,
  visibleRoles,
  writePolicy,
  writeRole,
} from './acl/policies.ts'
export {
  findAllocationOnNode,
  prepareAction,
  type PreparedExec,
  prepareExec,
  stopAllocation,
  unknownNode,
} from './allocations/operations.ts'
export { allocationFailure } from './allocations/failure.ts'
export { restoreState, type ValidSnapshot } from './restore-state.ts'
export {
  assertClusterLevel,
  ensureBuiltIns,
  forceGarbageCollection,
  raiseClusterLevel,
  reachableLevel,
  recountSummaries,
  type ServerBuild,
  writeSchedulerConfiguration,
} from './operator.ts'
export { agentMember } from './remote-regions.ts'
export {
  DEFAULT_NODE_ADMISSION,
  type EvaluationQueue,
  type NodeAdmission,
  REGION_OUTCOME_UNKNOWN,
  REGION_UNREACHABLE,
  type RemoteRegions,
  type RequestCaller,
  type Sealer,
  type WorkloadContext,
  type WorkOrigin,
} from './context.ts'
export {
  DEPLOYMENT_NOT_FOUND,
  type DeploymentWriteResult,
  failDeployment,
  promoteDeployment,
  setAllocationHealth,
  setPaused,
  unblockDeployment,
} from './deployments.ts'
export {
  deleteEvaluationsByFilter,
  deleteEvaluationsById,
  EVAL_NOT_FOUND,
  evaluateJob,
  releaseJob,
} from './evaluations.ts'
export {
  changesState,
  isBlockedForSameReasons,
  planRows,
  systemNs,
} from './evaluations/inline-placement.ts'
export { JobPolicyEvaluator } from './policy-enforcement/evaluator.ts'
export { NO_POLICIES, type PolicySource } from './policy-enforcement/evaluator.ts'
export { JobFileReader } from './job-files/job-file-reader.ts'
export {
  ALL_LOG_TYPES,
  isJobFinished,
  jobActions,
  jobCountsRow,
  jobLogSources,
  jobStatusRow,
  type LogSource,
} from './jobs/job-reads.ts'
export { dispatchJob, forcePeriodicJob } from './jobs/dispatch.ts'
export { explainEvaluation, explainJob, explainOptions } from './jobs/explain.ts'
export {
  parseJob,
  registerJob,
  registerSystemJob,
  revertJob,
  validateSubmittedJob,
} from './jobs/register-job.ts'
export { createPlanGate, planJob } from './jobs/plan.ts'
export type { JobWriteResult } from './jobs/job-commit.ts'
export { scaleJob } from './jobs/scale.ts'
export {
  findSubmission,
  readSubmission,
  setStability,
  tagNotFound,
  tagVersion,
  untagVersion,
  versionKeysOf,
} from './jobs/versions.ts'
export {
  INDEXED_JOB_FIELDS,
  type JobIndexEntry,
  JobsByModifyIndex,
  scanJobIndex,
  snapshotOfKeys,
} from './jobs/job-index.ts'
export { stopJob } from './jobs/stop.ts'
export { deleteNamespace, NAMESPACE_NOT_FOUND, namespaceRow, writeNamespace } from './namespaces.ts'
export { ALL_POOLS, deleteNodePool, NODE_POOL_NOT_FOUND, writeNodePool } from './node-pools.ts'
export {
  drainNode,
  evaluateNode,
  NODE_NOT_FOUND,
  type NodeWriteResult,
  purgeNode,
  setEligibility,
} from './nodes/node-operations.ts'
export {
  createJoinToken,
  deleteJoinToken,
  rotateSharedJoinToken,
  sharedTokenReplacedAt,
} from './nodes/join-tokens.ts'
export {
  NO_PATH_TO_NODE,
  NODE_CONNECTING,
  NODE_TIMEOUT,
  type NodeGateway,
  type OpenStreamRequest,
  refusalFromNode,
} from './nodes/node-gateway.ts'
export { NodeLoadCache } from './nodes/node-loads.ts'
export { NodeReportBatcher, updateAllocations } from './nodes/node-reports.ts'
export { admitNode, registerNode, updateNode } from './nodes/register-node.ts'
export {
  resumeRotation,
  revokeNode,
  rotateNodeSecret,
  unrevokeNode,
} from './nodes/node-credentials.ts'

export {
  deleteVariable,
  type LockOperation,
  openItems,
  sealItems,
  VARIABLE_NOT_FOUND,
  writeVariable,
} from './variables/variables.ts'
export {
  deleteService,
  listServiceNames,
  rendezvousSelect,
  reportServices,
} from './services/services.ts'
export {
  deleteHostVolume,
  HOST_VOLUME_NOT_FOUND,
  type HostVolumeDeps,
  mountingAllocations,
  writeHostVolume,
} from './volumes/host-volumes.ts'
export { VolumeWriteQueue } from './volumes/volume-writes.ts'
export { searchFuzzy } from './search/fuzzy-search.ts'
export { searchPrefix } from './search/prefix-search.ts'
export type { SearchResult } from './search/prefix-search.ts'
