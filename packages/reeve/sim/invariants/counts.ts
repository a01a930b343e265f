import type { ClientStatus, Deployment, Job, TaskGroupSummary } from '@reeve/contract'
import { isActiveDeployment, isTerminal, jobStatus } from '../../src/model/index.ts'
import { isOpenEvaluation, namespacedKey } from '../../src/state/index.ts'
import { Violation } from '../trace.ts'
import { jobKeyOf, type Changes, type ExpectedState } from './expected-state.ts'

interface CountedAllocation {
  readonly group: string
  readonly createIndex: number
  status: ClientStatus
}

interface DeploymentMember {
  readonly group: string
  readonly isCanary: boolean
  healthy: boolean | null
}

const STATUS_BY_COUNT = {
  Starting: 'pending',
  Running: 'running',
  Complete: 'complete',
  Failed: 'failed',
  Lost: 'lost',
  Unknown: 'unknown',
} as const satisfies Record<Exclude<keyof TaskGroupSummary, 'Queued'>, ClientStatus>

/**
 * Invariant: counters equal a recount, in summaries, job statuses and deployments.
 * Garbage-collected allocations still count, so all allocations ever created are recorded here.
 */
export class CountCheck {
  /** By job, then by allocation; removed with the job. */
  readonly #allocationsByJob = new Map<string, Map<string, CountedAllocation>>()
  readonly #membersByDeployment = new Map<string, Map<string, DeploymentMember>>()
  readonly #evaluatedJobs = new Set<string>()

  check(model: ExpectedState, changes: Changes): void {
    const jobs = this.#recordChanges(changes)
    for (const key of jobs) {
      const job = model.jobs.find(key)
      if (job === undefined) continue
      checkStatus(model, key, { job, wasEvaluated: this.#evaluatedJobs.has(key) })
      this.#checkSummary(model, key, job)
    }
    for (const { after } of changes.deployments)
      if (after !== undefined && isActiveDeployment(after)) this.#checkDeployment(after)
  }

  /** Records the commit and returns the affected jobs. */
  #recordChanges(changes: Changes): ReadonlySet<string> {
    const jobs = new Set<string>()
    for (const { key, before, after } of changes.jobs) {
      if (before !== undefined && after === undefined) this.#evaluatedJobs.delete(key)
      jobs.add(key)
      const parent = (after ?? before)?.ParentID ?? ''
      const namespace = (after ?? before)?.Namespace ?? ''
      if (parent !== '') jobs.add(namespacedKey(namespace, parent))
    }
    for (const { after } of changes.evaluations) {
      if (after === undefined) continue
      this.#evaluatedJobs.add(jobKeyOf(after))
      jobs.add(jobKeyOf(after))
    }
    for (const { after } of changes.deployments) if (after !== undefined) jobs.add(jobKeyOf(after))
    for (const { key, after } of changes.allocations) {
      if (after === undefined) continue
      jobs.add(jobKeyOf(after))
      const allocations = getOrCreateMap(this.#allocationsByJob, jobKeyOf(after))
      const counted = allocations.get(key)
      const { TaskGroup: group, CreateIndex: createIndex, ClientStatus: status } = after
      if (counted === undefined) allocations.set(key, { group, createIndex, status })
      else counted.status = status
      const { DeploymentID: id = '', DeploymentStatus } = after
      if (id === '') continue
      const members = getOrCreateMap(this.#membersByDeployment, id)
      const member = members.get(key)
      const healthy = DeploymentStatus?.Healthy ?? null
      if (member !== undefined) member.healthy = healthy
      else members.set(key, { group, isCanary: DeploymentStatus?.Canary === true, healthy })
    }
    return jobs
  }

  #checkSummary(model: ExpectedState, key: string, job: Job): void {
    const summary = model.job_summaries.find(key)
    if (summary === undefined)
      throw new Violation('a summary equals a recount', `${key} has no summary`)
    const rows = [...(this.#allocationsByJob.get(key)?.values() ?? [])].filter(
      ({ createIndex }) => createIndex >= job.CreateIndex,
    )
    for (const [group, counts] of Object.entries(summary.Summary))
      for (const [bucket, status] of Object.entries(STATUS_BY_COUNT)) {
        const recount = rows.filter((row) => row.group === group && row.status === status).length
        // Proof: the keys of BUCKETS are exactly its names.
        const reported = counts[bucket as keyof typeof STATUS_BY_COUNT]
        if (reported !== recount)
          throw new Violation(
            'a summary equals a recount',
            `${key} group ${group}: ${bucket} ${reported}, counted ${recount}`,
          )
      }
    const children = model.jobs.inGroup(`parent ${key}`)
    for (const [name, status] of [
      ['Pending', 'pending'],
      ['Running', 'running'],
    ] as const) {
      const recount = children.filter((child) => child.Status === status).length
      if (summary.Children[name] !== recount)
        throw new Violation(
          'a summary equals a recount',
          `${key}: ${name} children ${summary.Children[name]}, counted ${recount}`,
        )
    }
  }

  #checkDeployment(deployment: Deployment): void {
    const members = [...(this.#membersByDeployment.get(deployment.ID)?.entries() ?? [])]
    for (const [group, state] of Object.entries(deployment.TaskGroups)) {
      const groupMembers = members.filter(([, member]) => member.group === group)
      const reported = [
        state.PlacedAllocs,
        state.HealthyAllocs,
        state.UnhealthyAllocs,
        (state.PlacedCanaries ?? []).length,
      ]
      const recount = [
        groupMembers.length,
        groupMembers.filter(([, { healthy }]) => healthy === true).length,
        groupMembers.filter(([, { healthy }]) => healthy === false).length,
        groupMembers.filter(([, { isCanary }]) => isCanary).length,
      ]
      if (reported.join() !== recount.join())
        throw new Violation(
          'counters of a deployment equal a recount',
          `${deployment.JobID} ${deployment.ID} group ${group}: placed, healthy, unhealthy, canaries ${reported.join()}, counted ${recount.join()}`,
        )
    }
  }
}

function checkStatus(
  model: ExpectedState,
  key: string,
  { job, wasEvaluated }: { readonly job: Job; readonly wasEvaluated: boolean },
): void {
  const status = jobStatus(job, {
    hasActiveDeployment: model.deployments.inGroup(`job ${key}`).some(isActiveDeployment),
    hasLiveAllocation: model.allocations.inGroup(`job ${key}`).some((row) => !isTerminal(row)),
    hasOpenEvaluation: model.evaluations.inGroup(`job ${key}`).some(isOpenEvaluation),
    hadEvaluation: wasEvaluated,
  })
  const isDesired = job.Type === 'service' && job.TaskGroups.some(({ Count }) => Count > 0)
  if (isDesired && !job.Stop && job.Status === 'dead')
    throw new Violation('a service that is not stopped is never dead', key)
  if (status !== job.Status)
    throw new Violation(
      'the status of a job follows from its allocations and evaluations',
      `${key} is ${job.Status} and should be ${status}`,
    )
}

function getOrCreateMap<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const known = maps.get(key) ?? new Map<string, V>()
  maps.set(key, known)
  return known
}
