import type { AllocationRow } from '../model/index.ts'
import type { RowSplit } from './row-text.ts'

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
