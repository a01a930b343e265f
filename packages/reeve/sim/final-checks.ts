import type { Job, TaskGroup } from '@reeve/contract'
import {
  awaitsPromotion,
  isActiveDeployment,
  isClientTerminal,
  isParent,
  isServerTerminal,
  isTerminal,
  type AllocationRow,
} from '../src/model/index.ts'
import { isOpenEvaluation, namespacedKey } from '../src/state/index.ts'
import { checkNoDeadlineAhead } from './invariants/deadlines.ts'
import type { ExpectedState } from './invariants/expected-state.ts'
import { Violation } from './trace.ts'
import type { World } from './world.ts'

/** Invariants that must hold after faults have ended and the world has settled. */
export function checkFinalState(world: World): void {
  if (world.leader !== undefined) checkNoDeadlineAhead(world.leader)
  checkEvaluations(world)
  checkNodesMatchState(world)
  checkAllocationStates(world)
  checkDrains(world)
  checkDeployments(world)
  for (const job of world.expectedState.jobs.byKey.values()) {
    checkStoppedJob(world, job)
    checkServiceCounts(world.expectedState, job)
  }
}

/** All due evaluations are processed; each job has at most one blocked evaluation. */
function checkEvaluations({ expectedState, leader }: World): void {
  const nowMs = leader?.context.clock.nowMs() ?? 0
  const blocked = new Set<string>()
  for (const row of expectedState.evaluations.byKey.values()) {
    if (row.Status === 'pending' && Date.parse(row.WaitUntil) <= nowMs)
      throw new Violation(
        'no evaluation is pending',
        `${row.ID} of ${row.JobID} ${row.TriggeredBy}`,
      )
    if (row.Status !== 'blocked') continue
    const key = namespacedKey(row.Namespace, row.JobID)
    if (blocked.has(key)) throw new Violation('a job has one blocked evaluation', row.JobID)
    blocked.add(key)
  }
}

/** The leader and the machines agree on what runs. */
function checkNodesMatchState({ expectedState, nodes }: World): void {
  for (const node of nodes.values()) {
    const row = expectedState.nodes.find(node.id)
    if (row?.Status !== 'ready')
      throw new Violation('connected nodes are ready', `${node.id} is ${row?.Status}`)
    const running = new Set(node.driver.running)
    for (const allocation of expectedState.allocations.inGroup(`node ${node.id}`)) {
      const isRunning = running.delete(allocation.ID)
      const exit = node.driver.exitOf(allocation.ID)
      const isReportedRunning = allocation.ClientStatus === 'running'
      // A task that was stopped while waiting for a restart counts as complete, not as failed.
      const isReportedComplete =
        allocation.ClientStatus === 'complete' && allocation.DesiredStatus === 'run'
      const isWronglyReported = isReportedComplete && exit?.exitCode === 1
      if (isRunning !== isReportedRunning || isWronglyReported)
        throw new Violation(
          'the leader knows every running task',
          `${allocation.Name} ${allocation.ID} on ${node.id} is ${allocation.ClientStatus}, really ${isRunning ? 'running' : `ended with ${exit?.exitCode}`}`,
        )
    }
    for (const id of running) throw new Violation('no unknown task runs', `${id} on ${node.id}`)
  }
}

function checkAllocationStates({ expectedState }: World): void {
  for (const row of expectedState.allocations.byKey.values()) {
    const label = `${row.Name} ${row.ID} ${row.DesiredStatus} ${row.ClientStatus}`
    if (isServerTerminal(row) && !isClientTerminal(row))
      throw new Violation('stopped allocations have ended', label)
    if (row.ClientStatus === 'pending' && !isServerTerminal(row))
      throw new Violation('desired allocations run', label)
    const node = expectedState.nodes.find(row.NodeID)
    if (!isTerminal(row) && node?.Status !== 'ready' && row.ClientStatus !== 'unknown')
      throw new Violation('allocations of a lost node are lost', `${label} on ${row.NodeName}`)
  }
}

/**
 * Drained nodes are empty. Only allocations without another feasible node keep a drain without a
 * deadline open.
 */
function checkDrains({ expectedState }: World): void {
  for (const node of expectedState.nodes.byKey.values()) {
    if (node.DrainStrategy === null || node.Status !== 'ready') continue
    const remaining = expectedState.allocations
      .inGroup(`node ${node.ID}`)
      .filter((row) => !isTerminal(row) && row.JobType !== 'system')
    const isStuck = remaining.some((row) => isGroupBelowCount(expectedState, row))
    if (node.DrainStrategy.Deadline !== 0 || !isStuck)
      throw new Violation(
        'a drained node is empty',
        `${node.Name} holds ${remaining.map((row) => row.Name).join()}`,
      )
  }
}

/** Its group is below its count, so `migrate` allows no further missing allocation. */
function isGroupBelowCount(model: World['expectedState'], row: AllocationRow): boolean {
  const key = namespacedKey(row.Namespace, row.JobID)
  const job = model.jobs.find(key)
  const group = job?.TaskGroups.find(({ Name }) => Name === row.TaskGroup)
  const live = model.allocations
    .inGroup(`job ${key}`)
    .filter((other) => other.TaskGroup === row.TaskGroup && !isTerminal(other))
  return live.length < (group?.Count ?? 0) || hasOpenEvaluation(model, key)
}

/** An evaluation of the job is blocked or delayed. */
function hasOpenEvaluation(model: World['expectedState'], key: string): boolean {
  return model.evaluations.inGroup(`job ${key}`).some(isOpenEvaluation)
}

/** Deployments have ended, or wait for a promotion or for capacity. */
function checkDeployments({ expectedState }: World): void {
  for (const row of expectedState.deployments.byKey.values()) {
    if (!isActiveDeployment(row) || row.Status === 'paused' || awaitsPromotion(row)) continue
    if (hasOpenEvaluation(expectedState, namespacedKey(row.Namespace, row.JobID))) continue
    throw new Violation(
      'a deployment ends',
      `${row.JobID} version ${row.JobVersion} ${row.ID} is ${row.Status}: ${JSON.stringify(row.TaskGroups)}`,
    )
  }
}

function checkStoppedJob({ expectedState }: World, job: Job): void {
  if (isParent(job)) return
  const key = namespacedKey(job.Namespace, job.ID)
  const live = expectedState.allocations.inGroup(`job ${key}`).filter((row) => !isTerminal(row))
  if (job.Stop && live.length > 0)
    throw new Violation(
      'a stopped job has no running allocations',
      `${job.ID}: ${live.map((row) => row.Name).join()}`,
    )
}

/**
 * Once faults have ended, every group of a service must have reached its count, or a blocked
 * evaluation must name the group and the exhausted resource. A failed deployment does not excuse
 * missing allocations.
 */
function checkServiceCounts(model: ExpectedState, job: Job): void {
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
    throw new Violation('no more allocations run than desired', label)
  if (counted >= expectedCount(model, { job, group, isPromotionDue })) return
  if (!isBlocked(model, key, group.Name) && !mayHaveExhaustedReschedules(model, job, group))
    throw new Violation('a service reaches its count or reports why not', label)
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
