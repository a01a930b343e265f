import type { Job } from '@reeve/contract'
import type { RowPieces } from './row-text.ts'

/** What a version of a job is numbered and stamped with. */
type Steady =
  | 'Version'
  | 'SubmitTime'
  | 'CreateIndex'
  | 'JobModifyIndex'
  | 'SubmittedBy'
  | 'Origin'
  | 'Message'
/** What changes while a version lives. */
type Changing =
  | 'Stop'
  | 'Status'
  | 'StatusDescription'
  | 'Stable'
  | 'VersionTag'
  | 'ModifyIndex'
  | 'Quarantine'
  | 'NodeLosses'
type Specified = Exclude<keyof Job, Steady | Changing>

/** Every field of a piece: a new field has to be in one of them. */
type Piece<Name extends keyof Job> = { readonly [N in Name]-?: Job[N] | undefined }

/**
 * The specification of a job is most of its text, and stays when its status changes: a job that is
 * registered changes it twice at least.
 */
export const JOB_PIECES: RowPieces<Job> = {
  common: (row): Piece<Specified> => ({
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
  steady: (row): Piece<Steady> => ({
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
  rest: (row): Piece<Changing> => ({
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
