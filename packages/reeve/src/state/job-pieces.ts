import type { Job } from '@reeve/contract'
import type { RowSplit } from './row-text.ts'

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
