/** The tests of the contract check that nothing of it is missing. */

interface SpecRoute {
  readonly method: string
  readonly path: string
  readonly blocking: boolean
}

function reads(paths: readonly string[]): readonly SpecRoute[] {
  return paths.map((path) => ({ method: 'GET', path, blocking: true }))
}

function writes(method: string, paths: readonly string[]): readonly SpecRoute[] {
  return paths.map((path) => ({ method, path, blocking: false }))
}

/** The tables of allocations, jobs, event stream and ACL tokens. */
export const SPEC_ROUTES: readonly SpecRoute[] = [
  ...reads(['/allocations', '/allocation/:alloc_id']),
  ...writes('POST', [
    '/allocation/:alloc_id/stop',
    '/client/allocation/:alloc_id/signal',
    '/client/allocation/:alloc_id/restart',
  ]),
  ...writes('PUT', [
    '/allocation/:alloc_id/stop',
    '/client/allocation/:alloc_id/signal',
    '/client/allocation/:alloc_id/restart',
  ]),
  // A WebSocket begins as a GET.
  ...writes('GET', ['/client/allocation/:alloc_id/exec', '/event/stream']),
  ...reads([
    '/jobs',
    '/job/:job_id',
    '/job/:job_id/submission',
    '/job/:job_id/versions',
    '/job/:job_id/allocations',
    '/job/:job_id/evaluations',
    '/job/:job_id/deployments',
    '/job/:job_id/deployment',
    '/job/:job_id/summary',
    '/job/:job_id/scale',
  ]),
  ...writes('POST', [
    '/jobs',
    '/jobs/parse',
    '/job/:job_id',
    '/job/:job_id/dispatch',
    '/job/:job_id/revert',
    '/job/:job_id/stable',
    '/job/:job_id/evaluate',
    '/job/:job_id/plan',
    '/job/:job_id/periodic/force',
    '/job/:job_id/scale',
  ]),
  ...writes('DELETE', ['/job/:job_id', '/acl/token/:accessor_id']),
  ...reads(['/acl/tokens', '/acl/token/:accessor_id', '/acl/token/self']),
  ...writes('POST', [
    '/acl/bootstrap',
    '/acl/token',
    '/acl/token/:accessor_id',
    '/acl/token/onetime',
    '/acl/token/onetime/exchange',
  ]),
]

/** Endpoints beside the listed ones. */
export const ADDITIONAL_ROUTES: readonly string[] = [
  'POST /job/:id/dispatch/payload',
  'POST /job/:id/versions/:tag/tag',
  'DELETE /job/:id/versions/:tag/tag',
  'GET /job/:id/services',
  'GET /job/:id/actions',
  'GET /job/:id/action',
  'GET /job/:id/explain',
  'GET /evaluation/:id/explain',
  'GET /jobs/statuses',
  'POST /jobs/statuses',
  'GET /allocation/:id/services',
  'GET /allocation/:id/checks',
  'GET /client/allocation/:id/checks',
  'GET /client/allocation/:id/stats',
  'GET /client/allocation/:id/pause',
  'POST /client/allocation/:id/pause',
  'PUT /client/allocation/:id/gc',
  'PUT /client/gc',
  'GET /client/stats',
  'GET /client/fs/ls/:id',
  'GET /client/fs/stat/:id',
  'GET /client/fs/cat/:id',
  'GET /client/fs/readat/:id',
  'GET /client/fs/stream/:id',
  'GET /client/fs/logs/:id',
  'GET /nodes',
  'GET /topology',
  'GET /node/:id',
  'GET /acl/can',
  'GET /node/:id/allocations',
  'POST /node/:id/evaluate',
  'POST /node/:id/drain',
  'POST /node/:id/eligibility',
  'POST /node/:id/purge',
  'GET /evaluations',
  'DELETE /evaluations',
  'GET /evaluations/count',
  'GET /evaluation/:id',
  'GET /evaluation/:id/allocations',
  'GET /deployments',
  'GET /deployment/:id',
  'GET /deployment/allocations/:id',
  'POST /deployment/fail/:id',
  'POST /deployment/pause/:id',
  'POST /deployment/promote/:id',
  'POST /deployment/allocation-health/:id',
  'POST /deployment/unblock/:id',
  'GET /namespaces',
  'GET /namespace/:name',
  'POST /namespace',
  'POST /namespace/:name',
  'DELETE /namespace/:name',
  'GET /node/pools',
  'POST /node/pools',
  'GET /node/pool/:name',
  'POST /node/pool/:name',
  'DELETE /node/pool/:name',
  'GET /node/pool/:name/nodes',
  'GET /node/pool/:name/jobs',
  'GET /agent/health',
  'GET /agent/self',
  'GET /agent/members',
  'GET /agent/servers',
  'PUT /agent/servers',
  'POST /agent/join',
  'POST /agent/force-leave',
  'GET /agent/monitor',
  'GET /agent/host',
  'GET /status/leader',
  'GET /status/peers',
  'GET /regions',
  'POST /search',
  'POST /search/fuzzy',
  'PUT /system/gc',
  'PUT /system/reconcile/summaries',
  'GET /operator/scheduler/configuration',
  'PUT /operator/scheduler/configuration',
  'GET /metrics',
  'POST /validate/job',
  'GET /scaling/policies',
  'GET /scaling/policy/:id',
  'GET /services',
  'GET /service/:name',
  'DELETE /service/:name/:id',
  'GET /vars',
  'GET /var/:path',
  'PUT /var/:path',
  'DELETE /var/:path',
  'GET /acl/policies',
  'GET /acl/policy/:name',
  'POST /acl/policy/:name',
  'DELETE /acl/policy/:name',
  'GET /acl/policy/self',
  'GET /acl/roles',
  'POST /acl/role',
  'POST /acl/role/:id',
  'GET /acl/role/:id',
  'GET /acl/role/name/:name',
  'DELETE /acl/role/:id',
]

interface SpecFields {
  readonly shape: string
  /** Names of fields that lead from the shape to the record that is meant. */
  readonly at: readonly string[]
  readonly fields: readonly string[]
}

function of(shape: string, fields: string, at = ''): SpecFields {
  return {
    shape,
    at: at === '' ? [] : at.split('.'),
    fields: fields.split(/\s+/).filter((field) => field !== ''),
  }
}

const NETWORK = 'Mode Device CIDR IP MBits DNS ReservedPorts DynamicPorts'
const PORT = 'Label Value To HostNetwork'
const LEGACY_RESOURCES = 'CPU MemoryMB DiskMB Networks'
const WRITE_RESPONSE = 'EvalID EvalCreateIndex JobModifyIndex'

export const SPEC_FIELDS: readonly SpecFields[] = [
  of(
    'Allocation',
    `ID EvalID Name NodeID NodeName Namespace JobID JobType JobVersion TaskGroup PreviousAllocation
     NextAllocation FollowupEvalID PreemptedAllocations PreemptedByAllocation DesiredStatus
     DesiredDescription DesiredTransition ClientStatus ClientDescription DeploymentStatus
     RescheduleTracker TaskStates Resources SharedResources TaskResources AllocatedResources Metrics
     CreateIndex ModifyIndex AllocModifyIndex CreateTime ModifyTime Job`,
  ),
  of('Allocation', 'ForceReschedule Migrate Reschedule', 'DesiredTransition'),
  of('Allocation', 'Canary Healthy ModifyIndex Timestamp', 'DeploymentStatus'),
  of('Allocation', 'PrevAllocID PrevNodeID RescheduleTime Delay', 'RescheduleTracker.Events'),
  of('Allocation', LEGACY_RESOURCES, 'Resources'),
  of('Allocation', LEGACY_RESOURCES, 'SharedResources'),
  of('Allocation', LEGACY_RESOURCES, 'TaskResources'),
  of(
    'Allocation',
    `NodesEvaluated NodesFiltered NodesAvailable ClassFiltered ConstraintFiltered NodesExhausted
     ClassExhausted DimensionExhausted Scores AllocationTime CoalescedFailures`,
    'Metrics',
  ),
  of(
    'AllocationStub',
    `ID EvalID Name NodeID NodeName Namespace JobID JobType JobVersion TaskGroup PreviousAllocation
     NextAllocation FollowupEvalID PreemptedAllocations PreemptedByAllocation DesiredStatus
     DesiredDescription DesiredTransition ClientStatus ClientDescription DeploymentStatus
     RescheduleTracker TaskStates Resources SharedResources TaskResources AllocatedResources Metrics
     CreateIndex ModifyIndex AllocModifyIndex CreateTime ModifyTime`,
  ),
  of('TaskState', 'State Failed StartedAt FinishedAt LastRestart Restarts Events TaskHandle'),
  of(
    'TaskEvent',
    `Type Time DisplayMessage Message Details FailsTask RestartReason SetupError DriverError
     DriverMessage ExitCode Signal KillTimeout KillError KillReason StartDelay DownloadError
     ValidationError DiskLimit FailedSibling SecretStoreError TaskSignal TaskSignalReason
     GenericSource`,
  ),
  of(
    'Job',
    `Region Namespace ID ParentID Name Type Priority AllAtOnce Datacenters NodePool Constraints
     Affinities Spreads TaskGroups Update Periodic ParameterizedJob Payload Meta Migrate Reschedule
     Multiregion Stable Stop Dispatched SubmitTime Version Status StatusDescription DiscoveryToken
     SecretStoreToken SecretStoreNamespace ServiceTokenID CreateIndex ModifyIndex JobModifyIndex`,
  ),
  of('Job', 'LTarget RTarget Operand', 'Constraints'),
  of('Job', 'LTarget RTarget Operand Weight', 'Affinities'),
  of(
    'Job',
    `Stagger MaxParallel AutoPromote AutoRevert Canary HealthCheck HealthyDeadline MinHealthyTime
     ProgressDeadline`,
    'Update',
  ),
  of('Job', 'Enabled Spec SpecType ProhibitOverlap', 'Periodic'),
  of('Job', 'Payload MetaRequired MetaOptional', 'ParameterizedJob'),
  of(
    'TaskGroup',
    `Name Count Constraints Affinities Spreads RestartPolicy ReschedulePolicy Migrate EphemeralDisk
     Networks Services Scaling ShutdownDelay StopAfterClientDisconnect MaxClientDisconnect Volumes
     Update Meta Tasks`,
  ),
  of('TaskGroup', 'Attempts Interval Delay Mode', 'RestartPolicy'),
  of('TaskGroup', 'Attempts Delay DelayFunction Interval MaxDelay Unlimited', 'ReschedulePolicy'),
  of('TaskGroup', 'HealthCheck HealthyDeadline MaxParallel MinHealthyTime', 'Migrate'),
  of('TaskGroup', 'Sticky SizeMB Migrate', 'EphemeralDisk'),
  of('TaskGroup', NETWORK, 'Networks'),
  of('TaskGroup', PORT, 'Networks.ReservedPorts'),
  of('TaskGroup', PORT, 'Networks.DynamicPorts'),
  of(
    'Task',
    `Name Driver User Config Env Services Templates Constraints Affinities Resources DispatchPayload
     Meta KillTimeout KillSignal Kind LogConfig Artifacts Leader Lifecycle RestartPolicy
     ScalingPolicies ShutdownDelay CSIPluginConfig VolumeMounts SecretStore`,
  ),
  of('Task', 'Name PortLabel Tags Checks', 'Services'),
  of(
    'Task',
    'Name Type Command Args Path Protocol PortLabel Interval Timeout InitialStatus',
    'Services.Checks',
  ),
  of('Task', 'SourcePath DestPath EmbeddedTmpl ChangeMode ChangeSignal Splay Perms', 'Templates'),
  of('Task', 'CPU MemoryMB DiskMB IOPS Devices Networks', 'Resources'),
  of('Task', 'File', 'DispatchPayload'),
  of('Task', 'Disabled MaxFiles MaxFileSizeMB', 'LogConfig'),
  of('Task', 'GetterSource GetterOptions RelativeDest', 'Artifacts'),
  of('Task', 'Hook Sidecar', 'Lifecycle'),
  of(
    'JobStub',
    `ID ParentID Name Type Priority Status StatusDescription JobSummary CreateIndex ModifyIndex
     JobModifyIndex Meta`,
  ),
  of('JobSummary', 'JobID Namespace Summary Children CreateIndex ModifyIndex'),
  of('JobSummary', 'Queued Complete Failed Running Starting Lost', 'Summary'),
  of('JobSummary', 'Pending Running Dead', 'Children'),
  of('JobSubmission', 'Format JobIndex JobID Namespace Source VariableFlags Variables Version'),
  of(
    'Evaluation',
    `ID Priority Type TriggeredBy JobID JobModifyIndex NodeID NodeModifyIndex Status
     StatusDescription Wait NextEval PreviousEval BlockedEval FailedTGAllocs ClassEligibility
     EscapedComputedClass AnnotatePlan QueuedAllocations SnapshotIndex CreateIndex ModifyIndex`,
  ),
  of(
    'Deployment',
    `ID JobID JobVersion JobModifyIndex JobCreateIndex TaskGroups Status StatusDescription
     CreateIndex ModifyIndex`,
  ),
  of(
    'Deployment',
    `AutoRevert Promoted PlacedCanaries DesiredCanaries DesiredTotal PlacedAllocs HealthyAllocs
     UnhealthyAllocs`,
    'TaskGroups',
  ),
  of('JobScaleStatus', 'JobCreateIndex JobID Namespace JobModifyIndex JobStopped TaskGroups'),
  of('JobScaleStatus', 'Desired Events Healthy Placed Running Unhealthy', 'TaskGroups'),
  of(
    'Node',
    `ID Datacenter Name HTTPAddr TLSEnabled Attributes NodeResources ReservedResources Resources
     Reserved Links Meta NodeClass ComputedClass Drain DrainStrategy SchedulingEligibility Status
     StatusDescription StatusUpdatedAt Events Drivers CSIControllerPlugins CSINodePlugins
     HostVolumes CreateIndex ModifyIndex`,
  ),
  of('Node', 'Cpu Memory Disk Networks NodeNetworks Devices', 'NodeResources'),
  of('Node', 'CpuShares', 'NodeResources.Cpu'),
  of('Node', 'MemoryMB', 'NodeResources.Memory'),
  of('Node', 'DiskMB', 'NodeResources.Disk'),
  of('Node', 'Message Subsystem Details Timestamp CreateIndex', 'Events'),
  of('Node', 'Attributes Detected Healthy HealthDescription UpdateTime', 'Drivers'),
  of(
    'AclToken',
    'AccessorID SecretID Name Type Policies Global CreateTime CreateIndex ModifyIndex Hash',
  ),
  of('OneTimeToken', 'AccessorID OneTimeSecretID ExpiresAt CreateIndex ModifyIndex'),
  of('JobWriteResponse', `${WRITE_RESPONSE} Index LastContact KnownLeader Warnings`),
  of('JobScaleResponse', `${WRITE_RESPONSE} Index LastContact KnownLeader Warnings`),
  of('JobStopResponse', WRITE_RESPONSE),
  of('AllocationStopResponse', 'EvalID Index'),
  of('AllocationSignalRequest', 'Signal Task'),
  of('AllocationRestartRequest', 'TaskName Task'),
  of('ExecHandshake', 'version auth_token'),
  of('ExecRequestFrame', 'stdin tty_size'),
  of('ExecRequestFrame', 'data close', 'stdin'),
  of('ExecRequestFrame', 'height width', 'tty_size'),
  of('ExecResponseFrame', 'stdout stderr exited result'),
  of('ExecResponseFrame', 'data close', 'stdout'),
  of('ExecResponseFrame', 'data close', 'stderr'),
  of('ExecResponseFrame', 'exit_code', 'result'),
  of(
    'JobRegisterRequest',
    `Job Submission EnforceIndex EvalPriority JobModifyIndex PolicyOverride PreserveCounts`,
  ),
  of('JobParseRequest', 'JobHCL Canonicalize Variables HCLv1'),
  of('JobVersionsResponse', 'Diffs Index KnownLeader LastContact Versions'),
  of('JobDiff', 'ID Type Fields Objects TaskGroups'),
  of('TaskGroupDiff', 'Name Type Fields Objects Tasks Updates'),
  of('TaskDiff', 'Name Type Fields Objects Annotations'),
  of('ObjectDiff', 'Name Type Fields Objects'),
  of('FieldDiff', 'Name Old New Type Annotations'),
  of('JobDispatchRequest', 'IdPrefixTemplate Payload Meta'),
  of('JobDispatchResponse', 'Index JobCreateIndex EvalCreateIndex EvalID DispatchedJobID'),
  of('JobRevertRequest', 'JobID JobVersion EnforcePriorVersion DiscoveryToken SecretStoreToken'),
  of('JobStabilityRequest', 'JobID JobVersion Stable'),
  of('JobStabilityResponse', 'JobModifyIndex'),
  of('JobEvaluateRequest', 'JobID EvalOptions'),
  of('JobEvaluateRequest', 'ForceReschedule', 'EvalOptions'),
  of('JobPlanRequest', 'Job Diff PolicyOverride'),
  of(
    'JobPlanResponse',
    `Index NextPeriodicLaunch Warnings Diff CreatedEvals JobModifyIndex FailedTGAllocs Annotations`,
  ),
  of('JobPlanResponse', 'NodesInPool', 'FailedTGAllocs'),
  of(
    'JobPlanResponse',
    'DestructiveUpdate InPlaceUpdate Stop Migrate Place Ignore',
    'Annotations.DesiredTGUpdates',
  ),
  of('PeriodicForceResponse', 'EvalCreateIndex EvalID'),
  of('JobScaleRequest', 'Count Target Message Error Meta PolicyOverride'),
  of('EventLine', 'Index Events'),
  of('Event', 'Topic Type Key Namespace FilterKeys Index Payload'),
  of('AclBootstrapRequest', 'BootstrapSecret'),
  of('AclTokenRequest', 'AccessorID Name Type Policies Global'),
  of('OneTimeTokenResponse', 'Index OneTimeToken'),
  of('OneTimeTokenExchangeRequest', 'OneTimeSecretID'),
  of('OneTimeTokenExchangeResponse', 'Index Token'),
]

export const SPEC_EVENT_TYPES: readonly string[] = [
  'ACLTokenUpserted',
  'ACLTokenDeleted',
  'ACLPolicyUpserted',
  'ACLPolicyDeleted',
  'ACLRoleUpserted',
  'ACLRoleDeleted',
  'AllocationCreated',
  'AllocationUpdated',
  'AllocationUpdateDesiredStatus',
  'DeploymentStatusUpdate',
  'DeploymentPromotion',
  'DeploymentAllocHealth',
  'EvaluationUpdated',
  'JobRegistered',
  'JobDeregistered',
  'JobBatchDeregistered',
  'NodeRegistration',
  'NodeDeregistration',
  'NodeEligibility',
  'NodeDrain',
  'NodeEvent',
  'PlanResult',
  'ServiceRegistration',
  'ServiceDeregistration',
]
