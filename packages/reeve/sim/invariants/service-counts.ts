import type { Job, TaskGroup } from '@reeve/contract'
import { awaitsPromotion, isActiveDeployment, isParent, isTerminal } from '../../src/model/index.ts'
import { namespacedKey } from '../../src/state/index.ts'
import { Violation } from '../trace.ts'
import type { ExpectedState } from './model.ts'

/**
 * Once faults have ended, every group of a service must have reached its count, or a blocked
 * evaluation must name the group and the exhausted resource. A failed deployment does not excuse
 * missing allocations.
 */
export function checkServiceCounts(model: ExpectedState, job: Job): void {
  if (job.Stop || job.Type !== 'service' || isParent(job)) return
  // The job was quarantined because it caused node failures: an operator must decide
  // (docs/contributing/decisions/0061-quarantine.md).
  if (job.Quarantine !== undefined) return
  for (const group of job.TaskGroups) checkCount(model, job, group)
}

function checkCount(model: ExpectedState, job: Job, group: TaskGroup): void {
  const key = namespacedKey(job.Namespace, job.ID)
  const nonTerminal = model.allocations
    .inGroup(`job ${key}`)
    .filter((row) => row.TaskGroup === group.Name && !isTerminal(row))
  const latest = latestDeployment(model, key)
  const isPromotionDue =
    latest !== undefined && isActiveDeployment(latest) && awaitsPromotion(latest)
  const canaries = nonTerminal.filter((row) => row.DeploymentStatus?.Canary === true)
  const counted = isPromotionDue ? nonTerminal.length - canaries.length : nonTerminal.length
  const label = `${job.ID} ${group.Name}: ${counted} of ${group.Count}, deployment ${latest?.Status}`
  if (counted > group.Count && !isPromotionDue)
    throw new Violation('no more run than should', label)
  if (counted >= expectedCount(model, { job, group, isPromotionDue })) return
  if (!isBlocked(model, key, group.Name) && !mayHaveExhaustedReschedules(model, job, group))
    throw new Violation('a service reaches its count or names what it lacks', label)
}

interface CountedGroup {
  readonly job: Job
  readonly group: TaskGroup
  readonly isPromotionDue: boolean
}

/** An increase waits for a promotion: until then at least the minimum of all earlier versions. */
function expectedCount(model: ExpectedState, { job, group, isPromotionDue }: CountedGroup): number {
  if (!isPromotionDue) return group.Count
  const before = model
    .olderVersions(job)
    .map(({ TaskGroups }) => TaskGroups.find(({ Name }) => Name === group.Name)?.Count ?? 0)
  return before.length === 0 ? 0 : Math.min(group.Count, ...before)
}

function latestDeployment(model: ExpectedState, key: string) {
  return model.deployments
    .inGroup(`job ${key}`)
    .toSorted((a, b) => a.CreateIndex - b.CreateIndex)
    .at(-1)
}

/** Whether an evaluation is blocked on capacity and names the group and the exhausted resource. */
function isBlocked(model: ExpectedState, key: string, groupName: string): boolean {
  return model.evaluations
    .inGroup(`job ${key}`)
    .some((row) => row.Status === 'blocked' && row.FailedTGAllocs?.[groupName] !== undefined)
}

/**
 * Whether an allocation of the group failed and its reschedule policy is limited. The summary
 * counts it even after the allocation was garbage-collected.
 */
export function mayHaveExhaustedReschedules(
  model: ExpectedState,
  job: Job,
  group: TaskGroup,
): boolean {
  const summary = model.job_summaries.find(namespacedKey(job.Namespace, job.ID))
  const failed = summary?.Summary[group.Name]?.Failed ?? 0
  return failed > 0 && group.ReschedulePolicy?.Unlimited !== true
}
