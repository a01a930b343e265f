import type {
  ClientStatus,
  Job,
  JobChildrenSummary,
  JobStatus,
  JobStub,
  JobSummary,
  TaskGroupSummary,
} from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isParameterized } from './job.ts'

const NO_ALLOCATIONS: TaskGroupSummary = {
  Queued: 0,
  Complete: 0,
  Failed: 0,
  Running: 0,
  Starting: 0,
  Lost: 0,
  Unknown: 0,
}

type SummaryCount = Exclude<keyof TaskGroupSummary, 'Queued'>

const COUNT_BY_STATUS = {
  pending: 'Starting',
  running: 'Running',
  complete: 'Complete',
  failed: 'Failed',
  lost: 'Lost',
  unknown: 'Unknown',
} as const satisfies Record<ClientStatus, SummaryCount>

/** Counts that never decrease: completed and failed allocations stay so. */
const CUMULATIVE_COUNTS: readonly SummaryCount[] = ['Complete', 'Failed']

/**
 * Returns the summary of a job without allocations, new or registered again, with all its groups.
 */
export function newSummary(job: Job): JobSummary {
  const groups = job.TaskGroups.map((group) => [group.Name, NO_ALLOCATIONS] as const)
  return {
    JobID: job.ID,
    Namespace: job.Namespace,
    Summary: Object.fromEntries(groups),
    Children: { Pending: 0, Running: 0, Dead: 0 },
    CreateIndex: job.CreateIndex,
    ModifyIndex: job.ModifyIndex,
  }
}

/** Adds the new groups of the job with zero counts; removed groups keep their counts. */
export function withGroupsOf(summary: JobSummary, job: Job): JobSummary {
  const newGroups = job.TaskGroups.filter((group) => !Object.hasOwn(summary.Summary, group.Name))
  if (newGroups.length === 0) return summary
  return withGroups(
    summary,
    newGroups.map((group) => [group.Name, NO_ALLOCATIONS]),
  )
}

/** An allocation that was created, or whose client status changed. */
export interface StatusChange {
  readonly group: string
  /** Undefined if the allocation is new. */
  readonly before: ClientStatus | undefined
  readonly after: ClientStatus
}

/** Returns the updated summary, at a cost independent of the number of allocations. */
export function applyStatusChanges(
  summary: JobSummary,
  changes: readonly StatusChange[],
): JobSummary {
  const counts = new Map<string, Record<keyof TaskGroupSummary, number>>()
  for (const change of changes) {
    const group = counts.get(change.group) ?? { ...groupCounts(summary, change.group) }
    counts.set(change.group, group)
    countStatusChange(group, change)
  }
  return counts.size === 0 ? summary : withGroups(summary, [...counts])
}

function countStatusChange(
  group: Record<keyof TaskGroupSummary, number>,
  change: StatusChange,
): void {
  if (change.before === change.after) return
  group[COUNT_BY_STATUS[change.after]] += 1
  if (change.before === undefined) {
    group.Queued = Math.max(0, group.Queued - 1)
    return
  }
  const previousCount = COUNT_BY_STATUS[change.before]
  if (!CUMULATIVE_COUNTS.includes(previousCount))
    group[previousCount] = Math.max(0, group[previousCount] - 1)
}

/** Sets the number of unplaced allocations, replacing that of the previous evaluation. */
export function withQueued(
  summary: JobSummary,
  queued: Readonly<Record<string, number>>,
): JobSummary {
  const groups = Object.entries(queued)
    .map(([name, Queued]) => [name, { ...groupCounts(summary, name), Queued }] as const)
    .filter(([name, counts]) => groupCounts(summary, name).Queued !== counts.Queued)
  return groups.length === 0 ? summary : withGroups(summary, groups)
}

const CHILD_COUNT_BY_STATUS = {
  pending: 'Pending',
  running: 'Running',
  dead: 'Dead',
} as const satisfies Record<JobStatus, keyof JobChildrenSummary>

/**
 * Updates the summary for a child job that was created, changed its status, or (after undefined)
 * was deleted.
 */
export function countChild(
  summary: JobSummary,
  before: JobStatus | undefined,
  after: JobStatus | undefined,
): JobSummary {
  // A child that is deleted while it runs counts as dead from then on.
  const status = after ?? (before === 'dead' ? undefined : 'dead')
  if (before === status || status === undefined) return summary
  const children: Record<keyof JobChildrenSummary, number> = { ...summary.Children }
  children[CHILD_COUNT_BY_STATUS[status]] += 1
  if (before !== undefined)
    children[CHILD_COUNT_BY_STATUS[before]] = Math.max(
      0,
      children[CHILD_COUNT_BY_STATUS[before]] - 1,
    )
  return { ...summary, Children: children }
}

interface CountedAllocation {
  readonly TaskGroup: string
  readonly ClientStatus: ClientStatus
}

/** Recounts the summary from the allocations of the current registration, as a repair. */
export function recountSummary(
  summary: JobSummary,
  job: Job,
  allocations: readonly CountedAllocation[],
): JobSummary {
  const queued = Object.fromEntries(
    Object.entries(summary.Summary).map(([name, { Queued }]) => [name, Queued]),
  )
  const empty = { ...newSummary(job), Children: summary.Children, CreateIndex: summary.CreateIndex }
  const changes = allocations.map((allocation) => ({
    group: allocation.TaskGroup,
    before: undefined,
    after: allocation.ClientStatus,
  }))
  return withQueued(applyStatusChanges(empty, changes), queued)
}

function groupCounts(summary: JobSummary, group: string): TaskGroupSummary {
  const counts = Object.hasOwn(summary.Summary, group) ? summary.Summary[group] : undefined
  return counts ?? NO_ALLOCATIONS
}

/** Names come from jobs, so groups are built from entries, never by assignment to an object. */
function withGroups(
  summary: JobSummary,
  groups: readonly (readonly [string, TaskGroupSummary])[],
): JobSummary {
  const all = new Map([...Object.entries(summary.Summary), ...groups])
  const sorted = [...all].toSorted(([a], [b]) => compareText(a, b))
  return { ...summary, Summary: Object.fromEntries(sorted) }
}

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
