export { Authenticator } from './acl/authenticate.ts'
export { bootstrapAcl } from './acl/bootstrap.ts'
export { createOneTimeToken, exchangeOneTimeToken } from './acl/one-time-tokens.ts'
export {
  deletePolicy,
  mayReadPolicy,
  policyNamesOfCaller,
  visiblePolicies,
  writePolicy,
} from './acl/policies.ts'
export { deleteRole, ROLE_NOT_FOUND, visibleRoles, writeRole } from './acl/roles.ts'
export { ANONYMOUS_TOKEN, tokenFilterView, tokenStub, tokenWithSecret } from './acl/token-view.ts'
export { checkTokenReader, deleteToken, writeToken } from './acl/tokens.ts'
export type { TokenWriteResult } from './acl/tokens.ts'
export { prepareAction, prepareExec } from './allocations/exec.ts'
export type { PreparedExec } from './allocations/exec.ts'
export { allocationFailure } from './allocations/failure.ts'
export { findAllocationOnNode, unknownNode } from './allocations/on-node.ts'
export { stopAllocation } from './allocations/stop.ts'
export { ensureBuiltIns } from './built-ins.ts'
export {
  assertClusterLevel,
  reachableLevel,
  raiseClusterLevel,
  type ServerBuild,
} from './cluster-level.ts'
export { agentMember, type ServerInfo } from './agent-member.ts'
export { DEFAULT_NODE_ADMISSION, REGION_OUTCOME_UNKNOWN, REGION_UNREACHABLE } from './context.ts'
export type {
  EvaluationQueue,
  NodeAdmission,
  RemoteRegions,
  RequestCaller,
  WorkloadContext,
} from './context.ts'
export { DEPLOYMENT_NOT_FOUND } from './deployments/deployment-writes.ts'
export type { DeploymentWriteResult } from './deployments/deployment-writes.ts'
export { failDeployment } from './deployments/fail.ts'
export { setPaused } from './deployments/pause.ts'
export { promoteDeployment } from './deployments/promote.ts'
export { setAllocationHealth } from './deployments/set-health.ts'
export { unblockDeployment } from './deployments/unblock.ts'
export { deleteEvaluationsByFilter, deleteEvaluationsById, EVAL_NOT_FOUND } from './evaluations.ts'
export { systemNs } from './evaluations/inline-placement.ts'
export { changesState, isBlockedForSameReasons, planRows } from './evaluations/plan-rows.ts'
export { EventBroker } from './events/hub.ts'
export type { EventSink, Subscription } from './events/hub.ts'
export { prepareStream } from './events/subscribe.ts'
export type { EventStreams } from './events/subscribe.ts'
export { JobPolicyEvaluator } from './guarding/policy-guard.ts'
export { NO_POLICIES, type PolicySource } from './guarding/policy-source.ts'
export { JobFileReader } from './job-files/job-file-reader.ts'
export { jobActions } from './jobs/actions.ts'
export { dispatchJob } from './jobs/dispatch.ts'
export { evaluateJob } from './jobs/evaluate.ts'
export { explainEvaluation, explainJob, explainOptions } from './jobs/explain.ts'
export { ALL_LOG_TYPES, isJobFinished, jobLogSources } from './jobs/log-sources.ts'
export type { LogSource } from './jobs/log-sources.ts'
export { forcePeriodicJob } from './jobs/periodic-force.ts'
export { forceGarbageCollection, recountSummaries } from './garbage.ts'
export { parseJob } from './jobs/parse.ts'
export { createPlanGate, planJob } from './jobs/plan.ts'
export { registerJob } from './jobs/register-job.ts'
export type { JobWriteResult } from './jobs/register.ts'
export { releaseJob } from './jobs/release.ts'
export { revertJob } from './jobs/revert.ts'
export { scaleJob } from './jobs/scale.ts'
export { setStability } from './jobs/stability.ts'
export {
  snapshotOfKeys,
  INDEXED_JOB_FIELDS,
  JobsByModifyIndex,
  scanJobIndex,
} from './jobs/jobs-by-change.ts'
export type { JobIndexEntry } from './jobs/jobs-by-change.ts'
export { jobCountsRow, jobStatusRow } from './jobs/statuses.ts'
export { registerSystemJob } from './jobs/system-job.ts'
export { stopJob } from './jobs/stop.ts'
export type { StopResult } from './jobs/stop.ts'
export { findSubmission, readSubmission } from './jobs/submissions.ts'
export { tagNotFound, tagVersion, untagVersion } from './jobs/tags.ts'
export { validateSubmittedJob } from './jobs/validate.ts'
export { versionKeysOf } from './jobs/versions.ts'
export { deleteNamespace, NAMESPACE_NOT_FOUND, namespaceRow, writeNamespace } from './namespaces.ts'
export { ALL_POOLS, deleteNodePool, NODE_POOL_NOT_FOUND, writeNodePool } from './node-pools.ts'
export { drainNode } from './nodes/drain.ts'
export { setEligibility } from './nodes/eligibility.ts'
export { evaluateNode } from './nodes/evaluate.ts'
export {
  createJoinToken,
  deleteJoinToken,
  rotateSharedJoinToken,
  sharedTokenReplacedAt,
} from './nodes/join-tokens.ts'
export type { NodeGateway } from './nodes/node-gateway.ts'
export { DataMigrations } from './nodes/migrate-data.ts'
export { NodeLoadCache } from './nodes/node-loads.ts'
export { NodeReportBatcher } from './nodes/node-reports.ts'
export { tooManyStreams } from './nodes/node-streams.ts'
export { NodeRpcClient } from './nodes/node-requests.ts'
export { NodeSessions } from './nodes/node-sessions.ts'
export type { NodeSession } from './nodes/node-sessions.ts'
export { NODE_NOT_FOUND } from './nodes/node-writes.ts'
export type { NodeWriteResult } from './nodes/node-writes.ts'
export { purgeNode } from './nodes/purge.ts'
export { admitNode, registerNode, updateNode } from './nodes/register-node.ts'
export { revokeNode, unrevokeNode } from './nodes/revoke.ts'
export { resumeRotation, rotateNodeSecret } from './nodes/rotate-secret.ts'
export type { SecretRotation } from './nodes/rotate-secret.ts'

export { updateAllocations } from './nodes/update-allocations.ts'
export type { NodeReport } from './nodes/update-allocations.ts'
export { openItems, sealItems, type VariableItems } from './variables/variable-items.ts'
export { deleteVariable, VARIABLE_NOT_FOUND, writeVariable } from './variables/variable-writes.ts'
export type { LockOperation, VariableWriteResult } from './variables/variable-writes.ts'
export { CatalogWatches, type CatalogSubscriber } from './services/catalog-hub.ts'
export { reportServices } from './services/report-services.ts'
export { rendezvousSelect } from './services/choose.ts'
export { deleteService } from './services/delete-service.ts'
export { listServiceNames } from './services/service-names.ts'
export {
  deleteHostVolume,
  HOST_VOLUME_NOT_FOUND,
  writeHostVolume,
  type HostVolumeDeps,
} from './volumes/host-volumes.ts'
export { mountingAllocations } from './volumes/mounters.ts'
export { VolumeWriteQueue } from './volumes/volume-writes.ts'
export { writeSchedulerConfiguration } from './scheduler-configuration.ts'
export type { Sealer } from './sealer.ts'
export { searchFuzzy } from './search/fuzzy-search.ts'
export { searchPrefix } from './search/prefix-search.ts'
export type { SearchResult } from './search/prefix-search.ts'
export type { WorkOrigin } from './work-origin.ts'
