import type { Deployment, Evaluation, Job } from '@reeve/contract'
import {
  isActiveDeployment,
  isServerTerminal,
  isTerminal,
  type AllocationRow,
} from '../../src/model/index.ts'
import { isOpenEvaluation } from '../../src/state/index.ts'
import { Violation } from '../trace.ts'
import { jobKeyOf, type Changes, type ExpectedState } from './expected-state.ts'

/** Checks which transitions of a row a commit may make. */
export function checkTransitions(model: ExpectedState, changes: Changes): void {
  for (const { before, after } of changes.allocations)
    if (after !== undefined) checkAllocation(model, before, after)
  for (const { before, after } of changes.evaluations) checkEvaluation(before, after)
  for (const { before, after } of changes.deployments) checkDeployment(before, after)
  for (const { before, after } of changes.jobs) checkJob(before, after)
  const jobs = new Set(changes.deployments.flatMap(({ after }) => (after ? [jobKeyOf(after)] : [])))
  for (const key of jobs) {
    const active = model.deployments.inGroup(`job ${key}`).filter(isActiveDeployment)
    const ids = active.map(({ ID }) => ID).join()
    if (active.length > 1) throw new Violation('one deployment at a time', `${key}: ${ids}`)
  }
}

function checkAllocation(
  model: ExpectedState,
  before: AllocationRow | undefined,
  after: AllocationRow,
): void {
  const label = `${after.Name} ${after.ID}`
  if (before === undefined) return checkPlacement(model, after)
  if (before.NodeID !== after.NodeID || before.Name !== after.Name)
    throw new Violation('an allocation never changes its node', label)
  if (isServerTerminal(before) && !isServerTerminal(after))
    throw new Violation('a stopped allocation never has the desired status run again', label)
  const wasTerminal = before.ClientStatus === 'complete' || before.ClientStatus === 'failed'
  if (wasTerminal && after.ClientStatus !== before.ClientStatus)
    throw new Violation(
      'an ended allocation does not run again',
      `${label} was ${before.ClientStatus} and is ${after.ClientStatus}`,
    )
}

/** Checks the node and job of a placement. */
function checkPlacement(model: ExpectedState, row: AllocationRow): void {
  const label = `${row.Name} ${row.ID} on ${row.NodeName}`
  const node = model.nodes.find(row.NodeID)
  if (
    node === undefined ||
    node.Status !== 'ready' ||
    node.SchedulingEligibility !== 'eligible' ||
    node.DrainStrategy !== null
  )
    throw new Violation(
      'allocations are placed on ready nodes only',
      `${label}: ${node?.Status} ${node?.SchedulingEligibility}`,
    )
  const job = model.jobs.find(jobKeyOf(row))
  if (job === undefined || job.Stop)
    throw new Violation(
      'a stopped job gets no new allocations',
      `${label}: ${job?.Version ?? 'purged'}`,
    )
  if (job.Quarantine !== undefined && row.JobVersion === job.Version)
    throw new Violation(
      'a quarantined version gets no new allocations',
      `${label}: ${job.Quarantine.Reason}`,
    )
}

function checkEvaluation(before: Evaluation | undefined, after: Evaluation | undefined): void {
  if (before === undefined || after === undefined || isOpenEvaluation(before)) return
  if (after.Status !== before.Status)
    throw new Violation(
      'an evaluation ends once',
      `${after.ID} of ${after.JobID} was ${before.Status} and is ${after.Status}`,
    )
}

function checkDeployment(before: Deployment | undefined, after: Deployment | undefined): void {
  if (before === undefined || after === undefined || isActiveDeployment(before)) return
  if (after.Status !== before.Status)
    throw new Violation(
      'a deployment ends once',
      `${after.ID} of ${after.JobID} was ${before.Status} and is ${after.Status}`,
    )
}

function checkJob(before: Job | undefined, after: Job | undefined): void {
  if (before === undefined || after === undefined || before.CreateIndex !== after.CreateIndex)
    return
  if (after.Version < before.Version)
    throw new Violation(
      'versions only increase',
      `${after.ID}: ${before.Version} to ${after.Version}`,
    )
}

/**
 * Invariant: no name runs twice. At most one allocation of a job that is running on either side has
 * a given name. Exceptions: a canary has the name of the allocation it may replace, and a
 * replacement has the name of an unknown allocation that may reconnect. These are excused
 * permanently and checked at the end of the simulation.
 */
export class UniqueNameCheck {
  readonly #exceptions = new Set<string>()

  check(model: ExpectedState, changes: Changes): void {
    const jobs = new Set<string>()
    for (const { key, after } of changes.allocations) {
      if (after === undefined) this.#exceptions.delete(key)
      else if (after.DeploymentStatus?.Canary === true || after.ClientStatus === 'unknown')
        this.#exceptions.add(key)
      if (after !== undefined && !isTerminal(after)) jobs.add(jobKeyOf(after))
    }
    for (const key of jobs) this.#checkJob(model, key)
  }

  #checkJob(model: ExpectedState, key: string): void {
    const seen = new Map<string, AllocationRow>()
    for (const row of model.allocations.inGroup(`job ${key}`)) {
      if (isTerminal(row) || this.#exceptions.has(row.ID)) continue
      const isEverywhere = row.JobType === 'system' || row.JobType === 'sysbatch'
      const name = isEverywhere ? `${row.Name} on ${row.NodeID}` : row.Name
      const other = seen.get(name)
      if (other !== undefined)
        throw new Violation(
          'no allocation name runs twice',
          `${name}: ${describe(other)} and ${describe(row)}`,
        )
      seen.set(name, row)
    }
  }
}

function describe(row: AllocationRow): string {
  return `${row.ID} (version ${row.JobVersion}, created ${row.CreateIndex}, ${row.ClientStatus}, on ${row.NodeName})`
}
