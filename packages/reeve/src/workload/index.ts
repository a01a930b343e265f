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
export { agentMember, type ServerInfo } from './remote-regions.ts'
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
export { deleteEvaluationsByFilter, deleteEvaluationsById, EVAL_NOT_FOUND } from './evaluations.ts'
export {
  changesState,
  isBlockedForSameReasons,
  planRows,
  systemNs,
} from './evaluations/inline-placement.ts'
export { EventBroker, type EventSink, type Subscription } from './events/event-broker.ts'
export { type EventStreams, prepareStream } from './events/event-subscription.ts'
export { JobPolicyEvaluator } from './guarding/policy-guard.ts'
export { NO_POLICIES, type PolicySource } from './guarding/policy-source.ts'
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
export { evaluateJob, releaseJob } from './jobs/evaluate.ts'
export { explainEvaluation, explainJob, explainOptions } from './jobs/explain.ts'
export { parseJob, validateSubmittedJob } from './jobs/validate.ts'
export { createPlanGate, planJob } from './jobs/plan.ts'
export { registerJob, registerSystemJob } from './jobs/register-job.ts'
export type { JobWriteResult } from './jobs/job-commit.ts'
export { revertJob } from './jobs/revert.ts'
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
export type { StopResult } from './jobs/stop.ts'
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
export type { NodeGateway } from './nodes/node-gateway.ts'
export { DataMigrations } from './nodes/migrate-data.ts'
export { NodeLoadCache } from './nodes/node-loads.ts'
export { type NodeReport, NodeReportBatcher, updateAllocations } from './nodes/node-reports.ts'
export { tooManyStreams } from './nodes/node-streams.ts'
export { NodeRpcClient } from './nodes/node-requests.ts'
export { NodeSessions } from './nodes/node-sessions.ts'
export type { NodeSession } from './nodes/node-sessions.ts'
export { admitNode, registerNode, updateNode } from './nodes/register-node.ts'
export {
  resumeRotation,
  revokeNode,
  rotateNodeSecret,
  type SecretRotation,
  unrevokeNode,
} from './nodes/node-credentials.ts'

export {
  deleteVariable,
  type LockOperation,
  openItems,
  sealItems,
  VARIABLE_NOT_FOUND,
  type VariableItems,
  type VariableWriteResult,
  writeVariable,
} from './variables/variables.ts'
export { CatalogWatches, type CatalogSubscriber } from './services/catalog-watches.ts'
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
