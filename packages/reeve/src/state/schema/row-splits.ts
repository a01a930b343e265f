import type { Job } from '@reeve/contract'
import type { AllocationRow } from '../../model/index.ts'
import type { RowSplit } from '../table/row-json.ts'

type AllocationSharedField =
  | 'Namespace'
  | 'EvalID'
  | 'JobID'
  | 'JobType'
  | 'JobVersion'
  | 'TaskGroup'
  | 'DeploymentID'
  | 'AllocatedResources'
  | 'CreateIndex'
  | 'CreateTime'
type AllocationStableField =
  | 'ID'
  | 'Name'
  | 'NodeID'
  | 'NodeName'
  | 'Metrics'
  | 'PreviousAllocation'

/**
 * Requires every field of a part, including optional ones: a new field must be added to one of the
 * parts.
 */
type AllocationFields<Name extends keyof AllocationRow> = {
  readonly [N in Name]-?: AllocationRow[N]
}

/**
 * Allocations of one plan differ in names, nodes and scores. Later each one changes with the status
 * reports of its node.
 */
export const ALLOCATION_SPLIT: RowSplit<AllocationRow> = {
  common: (row): AllocationFields<AllocationSharedField> => ({
    Namespace: row.Namespace,
    EvalID: row.EvalID,
    JobID: row.JobID,
    JobType: row.JobType,
    JobVersion: row.JobVersion,
    TaskGroup: row.TaskGroup,
    DeploymentID: row.DeploymentID,
    AllocatedResources: row.AllocatedResources,
    CreateIndex: row.CreateIndex,
    CreateTime: row.CreateTime,
  }),
  agreeInCommon: (a, b) =>
    a.EvalID === b.EvalID &&
    a.TaskGroup === b.TaskGroup &&
    a.AllocatedResources === b.AllocatedResources &&
    a.DeploymentID === b.DeploymentID &&
    a.CreateIndex === b.CreateIndex &&
    a.CreateTime === b.CreateTime &&
    a.JobVersion === b.JobVersion &&
    a.JobID === b.JobID &&
    a.JobType === b.JobType &&
    a.Namespace === b.Namespace,
  steady: (row): AllocationFields<AllocationStableField> => ({
    ID: row.ID,
    Name: row.Name,
    NodeID: row.NodeID,
    NodeName: row.NodeName,
    Metrics: row.Metrics,
    PreviousAllocation: row.PreviousAllocation,
  }),
  agreeInSteady: (a, b) =>
    a.ID === b.ID &&
    a.Metrics === b.Metrics &&
    a.NodeID === b.NodeID &&
    a.Name === b.Name &&
    a.NodeName === b.NodeName &&
    a.PreviousAllocation === b.PreviousAllocation,
  rest: (
    row,
  ): AllocationFields<
    Exclude<keyof AllocationRow, AllocationSharedField | AllocationStableField>
  > => ({
    DesiredStatus: row.DesiredStatus,
    DesiredDescription: row.DesiredDescription,
    DesiredTransition: row.DesiredTransition,
    ClientStatus: row.ClientStatus,
    ClientDescription: row.ClientDescription,
    TaskStates: row.TaskStates,
    DeploymentStatus: row.DeploymentStatus,
    RescheduleTracker: row.RescheduleTracker,
    NextAllocation: row.NextAllocation,
    FollowupEvalID: row.FollowupEvalID,
    PreemptedAllocations: row.PreemptedAllocations,
    PreemptedByAllocation: row.PreemptedByAllocation,
    AllocStates: row.AllocStates,
    NetworkStatus: row.NetworkStatus,
    ModifyIndex: row.ModifyIndex,
    AllocModifyIndex: row.AllocModifyIndex,
    ModifyTime: row.ModifyTime,
  }),
}

/** Fields that identify a job version and do not change afterwards. */
type JobStableField =
  | 'Version'
  | 'SubmitTime'
  | 'CreateIndex'
  | 'JobModifyIndex'
  | 'SubmittedBy'
  | 'Origin'
  | 'Message'
/** Fields that change while a version exists. */
type JobChangingField =
  | 'Stop'
  | 'Status'
  | 'StatusDescription'
  | 'Stable'
  | 'VersionTag'
  | 'ModifyIndex'
  | 'Quarantine'
  | 'NodeLosses'
type JobSpecField = Exclude<keyof Job, JobStableField | JobChangingField>

/** Requires every field of a part: a new field must be added to one of the parts. */
type JobFields<Name extends keyof Job> = { readonly [N in Name]-?: Job[N] | undefined }

/**
 * The specification is most of a job's JSON and does not change with the status. Registering a job
 * changes the status at least twice.
 */
export const JOB_SPLIT: RowSplit<Job> = {
  common: (row): JobFields<JobSpecField> => ({
    Region: row.Region,
    Namespace: row.Namespace,
    ID: row.ID,
    ParentID: row.ParentID,
    Name: row.Name,
    Type: row.Type,
    Priority: row.Priority,
    AllAtOnce: row.AllAtOnce,
    Datacenters: row.Datacenters,
    NodePool: row.NodePool,
    Constraints: row.Constraints,
    Affinities: row.Affinities,
    Spreads: row.Spreads,
    TaskGroups: row.TaskGroups,
    Update: row.Update,
    Multiregion: row.Multiregion,
    Periodic: row.Periodic,
    ParameterizedJob: row.ParameterizedJob,
    Dispatched: row.Dispatched,
    DispatchIdempotencyToken: row.DispatchIdempotencyToken,
    Payload: row.Payload,
    Meta: row.Meta,
    Migrate: row.Migrate,
    Reschedule: row.Reschedule,
    DiscoveryToken: row.DiscoveryToken,
    DiscoveryNamespace: row.DiscoveryNamespace,
    SecretStoreToken: row.SecretStoreToken,
    SecretStoreNamespace: row.SecretStoreNamespace,
    ServiceTokenID: row.ServiceTokenID,
    UI: row.UI,
  }),
  agreeInCommon: (a, b) =>
    a.TaskGroups === b.TaskGroups &&
    a.Region === b.Region &&
    a.Namespace === b.Namespace &&
    a.ID === b.ID &&
    a.ParentID === b.ParentID &&
    a.Name === b.Name &&
    a.Type === b.Type &&
    a.Priority === b.Priority &&
    a.AllAtOnce === b.AllAtOnce &&
    a.Datacenters === b.Datacenters &&
    a.NodePool === b.NodePool &&
    a.Constraints === b.Constraints &&
    a.Affinities === b.Affinities &&
    a.Spreads === b.Spreads &&
    a.Update === b.Update &&
    a.Multiregion === b.Multiregion &&
    a.Periodic === b.Periodic &&
    a.ParameterizedJob === b.ParameterizedJob &&
    a.Dispatched === b.Dispatched &&
    a.DispatchIdempotencyToken === b.DispatchIdempotencyToken &&
    a.Payload === b.Payload &&
    a.Meta === b.Meta &&
    a.Migrate === b.Migrate &&
    a.Reschedule === b.Reschedule &&
    a.DiscoveryToken === b.DiscoveryToken &&
    a.DiscoveryNamespace === b.DiscoveryNamespace &&
    a.SecretStoreToken === b.SecretStoreToken &&
    a.SecretStoreNamespace === b.SecretStoreNamespace &&
    a.ServiceTokenID === b.ServiceTokenID &&
    a.UI === b.UI,
  steady: (row): JobFields<JobStableField> => ({
    Version: row.Version,
    SubmitTime: row.SubmitTime,
    CreateIndex: row.CreateIndex,
    JobModifyIndex: row.JobModifyIndex,
    SubmittedBy: row.SubmittedBy,
    Origin: row.Origin,
    Message: row.Message,
  }),
  agreeInSteady: (a, b) =>
    a.Version === b.Version &&
    a.SubmitTime === b.SubmitTime &&
    a.CreateIndex === b.CreateIndex &&
    a.JobModifyIndex === b.JobModifyIndex &&
    a.SubmittedBy === b.SubmittedBy &&
    a.Origin === b.Origin &&
    a.Message === b.Message,
  rest: (row): JobFields<JobChangingField> => ({
    Stop: row.Stop,
    Status: row.Status,
    StatusDescription: row.StatusDescription,
    Stable: row.Stable,
    VersionTag: row.VersionTag,
    ModifyIndex: row.ModifyIndex,
    // Absent in the text of most rows, because JSON leaves out what is undefined.
    Quarantine: row.Quarantine,
    NodeLosses: row.NodeLosses,
  }),
}
