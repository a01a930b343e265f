import type { Deployment, Evaluation, Job } from '@reeve/contract'
import {
  isActiveDeployment,
  isServerTerminal,
  isTerminal,
  type AllocationRow,
} from '../../src/model/index.ts'
import { isOpenEvaluation } from '../../src/state/index.ts'
import { Violation } from '../trace.ts'
import { jobKeyOf, type Changes, type Model } from './model.ts'

/** Checks which transitions of a row a commit may make. */
export function checkRowMoves(model: Model, changes: Changes): void {
  for (const { before, after } of changes.allocations)
    if (after !== undefined) checkAllocation(model, before, after)
  for (const { before, after } of changes.evaluations) checkEvaluation(before, after)
  for (const { before, after } of changes.deployments) checkDeployment(before, after)
  for (const { before, after } of changes.jobs) checkJob(before, after)
  const jobs = new Set(changes.deployments.flatMap(({ after }) => (after ? [jobKeyOf(after)] : [])))
  for (const key of jobs) {
    const active = model.deployments.in(`job ${key}`).filter(isActiveDeployment)
    const ids = active.map(({ ID }) => ID).join()
    if (active.length > 1) throw new Violation('one deployment at a time', `${key}: ${ids}`)
  }
}

function checkAllocation(
  model: Model,
  before: AllocationRow | undefined,
  after: AllocationRow,
): void {
  const at = `${after.Name} ${after.ID}`
  if (before === undefined) return checkPlaced(model, after)
  if (before.NodeID !== after.NodeID || before.Name !== after.Name)
    throw new Violation('an allocation stays where it is', at)
  if (isServerTerminal(before) && !isServerTerminal(after))
    throw new Violation('a stopped allocation never has the desired status run again', at)
  const hadEnded = before.ClientStatus === 'complete' || before.ClientStatus === 'failed'
  if (hadEnded && after.ClientStatus !== before.ClientStatus)
    throw new Violation(
      'what has ended does not run again',
      `${at} was ${before.ClientStatus} and is ${after.ClientStatus}`,
    )
}

/** Checks the node and job of a placement. */
function checkPlaced(model: Model, row: AllocationRow): void {
  const at = `${row.Name} ${row.ID} on ${row.NodeName}`
  const node = model.nodes.find(row.NodeID)
  if (
    node === undefined ||
    node.Status !== 'ready' ||
    node.SchedulingEligibility !== 'eligible' ||
    node.DrainStrategy !== null
  )
    throw new Violation(
      'work goes to ready nodes only',
      `${at}: ${node?.Status} ${node?.SchedulingEligibility}`,
    )
  const job = model.jobs.find(jobKeyOf(row))
  if (job === undefined || job.Stop)
    throw new Violation('a stopped job gets nothing new', `${at}: ${job?.Version ?? 'purged'}`)
  if (job.Quarantine !== undefined && row.JobVersion === job.Version)
    throw new Violation('a quarantined version gets nothing new', `${at}: ${job.Quarantine.Reason}`)
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
    throw new Violation('versions only grow', `${after.ID}: ${before.Version} to ${after.Version}`)
}

/**
 * Invariant: no name runs twice. At most one allocation of a job that is running on either side has
 * a given name. Exceptions: a canary has the name of the allocation it may replace, and a
 * replacement has the name of an unknown allocation that may reconnect. These are excused
 * permanently and checked at the end of the simulation.
 */
export class NameCheck {
  readonly #excused = new Set<string>()

  check(model: Model, changes: Changes): void {
    const jobs = new Set<string>()
    for (const { key, after } of changes.allocations) {
      if (after === undefined) this.#excused.delete(key)
      else if (after.DeploymentStatus?.Canary === true || after.ClientStatus === 'unknown')
        this.#excused.add(key)
      if (after !== undefined && !isTerminal(after)) jobs.add(jobKeyOf(after))
    }
    for (const key of jobs) this.#checkJob(model, key)
  }

  #checkJob(model: Model, key: string): void {
    const seen = new Map<string, AllocationRow>()
    for (const row of model.allocations.in(`job ${key}`)) {
      if (isTerminal(row) || this.#excused.has(row.ID)) continue
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
