import type { AllocatedResources, Job } from '@reeve/contract'
import { allocationName, type AllocationRow } from '../../src/model/index.ts'
import { aJob } from './job.ts'
import { anId } from './ids.ts'

/** An allocation of the job's first group that runs; `index` is the one in its name. */
export function anAllocation(
  fields: Partial<AllocationRow> & { job?: Job; index?: number } = {},
): AllocationRow {
  const { job = aJob(), index = 0, ...rest } = fields
  const group = rest.TaskGroup ?? job.TaskGroups[0]?.Name ?? ''
  return {
    ID: anId('alloc', index + 1),
    Namespace: job.Namespace,
    EvalID: anId('eval', 1),
    Name: allocationName(job.ID, group, index),
    NodeID: anId('node', 1),
    NodeName: 'node-1',
    JobID: job.ID,
    JobType: job.Type,
    JobVersion: job.Version,
    TaskGroup: group,
    DesiredStatus: 'run',
    ClientStatus: 'running',
    AllocatedResources: resourcesOf(job, group),
    Metrics: {},
    CreateIndex: 10 + index,
    ModifyIndex: 10 + index,
    AllocModifyIndex: 10 + index,
    CreateTime: 0,
    ModifyTime: 0,
    ...rest,
  }
}

/** What a group's allocation holds when it needs neither cores nor ports. */
function resourcesOf(job: Job, name: string): AllocatedResources {
  const group = job.TaskGroups.find((one) => one.Name === name)
  const tasks = (group?.Tasks ?? []).map((task) => [
    task.Name,
    {
      Cpu: { CpuShares: task.Resources.CPU, ReservedCores: null },
      Memory: { MemoryMB: task.Resources.MemoryMB, MemoryMaxMB: 0 },
      Networks: null,
      Devices: null,
    },
  ])
  return {
    Tasks: Object.fromEntries(tasks),
    TaskLifecycles: Object.fromEntries((group?.Tasks ?? []).map((t) => [t.Name, t.Lifecycle])),
    Shared: { Networks: null, DiskMB: group?.EphemeralDisk.SizeMB ?? 0, Ports: null },
  }
}
