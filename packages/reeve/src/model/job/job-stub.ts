import type { Job, JobStub, JobSummary } from '@reeve/contract'
import { isParameterized } from './job-change.ts'
import { newSummary } from './job-summary.ts'

/** Returns the list entry of a job; `Meta` is included only if requested and not empty. */
export function jobStub(
  job: Job,
  summary: JobSummary | undefined,
  options: { readonly withMeta?: boolean } = {},
): JobStub {
  return {
    ID: job.ID,
    ParentID: job.ParentID,
    Name: job.Name,
    Namespace: job.Namespace,
    Datacenters: job.Datacenters,
    NodePool: job.NodePool,
    Multiregion: job.Multiregion,
    Type: job.Type,
    Priority: job.Priority,
    Periodic: job.Periodic !== null,
    ParameterizedJob: isParameterized(job),
    Stop: job.Stop,
    Status: job.Status,
    StatusDescription: job.StatusDescription,
    JobSummary: summary ?? newSummary(job),
    CreateIndex: job.CreateIndex,
    ModifyIndex: job.ModifyIndex,
    JobModifyIndex: job.JobModifyIndex,
    SubmitTime: job.SubmitTime,
    ...(job.Quarantine === undefined ? {} : { Quarantine: job.Quarantine }),
    ...(options.withMeta === true && job.Meta !== null ? { Meta: job.Meta } : {}),
  }
}
