import type { ClientStatus, Deployment, Job, TaskGroupSummary } from '@reeve/contract'
import { isActiveDeployment, isTerminal, jobStatus } from '../../src/model/index.ts'
import { isOpenEvaluation, namespacedKey } from '../../src/state/index.ts'
import { Violation } from '../trace.ts'
import { jobKeyOf, type Changes, type Model } from './model.ts'

interface Counted {
  readonly group: string
  readonly createIndex: number
  status: ClientStatus
}

interface Member {
  readonly group: string
  readonly isCanary: boolean
  healthy: boolean | null
}

const BUCKETS = {
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
  readonly #counted = new Map<string, Map<string, Counted>>()
  readonly #members = new Map<string, Map<string, Member>>()
  readonly #evaluated = new Set<string>()

  check(model: Model, changes: Changes): void {
    const jobs = this.#note(changes)
    for (const key of jobs) {
      const job = model.jobs.find(key)
      if (job === undefined) continue
      checkStatus(model, key, { job, wasEvaluated: this.#evaluated.has(key) })
      this.#checkSummary(model, key, job)
    }
    for (const { after } of changes.deployments)
      if (after !== undefined && isActiveDeployment(after)) this.#checkDeployment(after)
  }

  /** Records the commit and returns the affected jobs. */
  #note(changes: Changes): ReadonlySet<string> {
    const jobs = new Set<string>()
    for (const { key, before, after } of changes.jobs) {
      if (before !== undefined && after === undefined) this.#evaluated.delete(key)
      jobs.add(key)
      const parent = (after ?? before)?.ParentID ?? ''
      const namespace = (after ?? before)?.Namespace ?? ''
      if (parent !== '') jobs.add(namespacedKey(namespace, parent))
    }
    for (const { after } of changes.evaluations) {
      if (after === undefined) continue
      this.#evaluated.add(jobKeyOf(after))
      jobs.add(jobKeyOf(after))
    }
    for (const { after } of changes.deployments) if (after !== undefined) jobs.add(jobKeyOf(after))
    for (const { key, after } of changes.allocations) {
      if (after === undefined) continue
      jobs.add(jobKeyOf(after))
      const ofJob = mapIn(this.#counted, jobKeyOf(after))
      const known = ofJob.get(key)
      const { TaskGroup: group, CreateIndex: createIndex, ClientStatus: status } = after
      if (known === undefined) ofJob.set(key, { group, createIndex, status })
      else known.status = status
      const { DeploymentID: id = '', DeploymentStatus } = after
      if (id === '') continue
      const members = mapIn(this.#members, id)
      const member = members.get(key)
      const healthy = DeploymentStatus?.Healthy ?? null
      if (member !== undefined) member.healthy = healthy
      else members.set(key, { group, isCanary: DeploymentStatus?.Canary === true, healthy })
    }
    return jobs
  }

  #checkSummary(model: Model, key: string, job: Job): void {
    const summary = model.job_summaries.find(key)
    if (summary === undefined)
      throw new Violation('a summary equals a recount', `${key} has no summary`)
    const rows = [...(this.#counted.get(key)?.values() ?? [])].filter(
      ({ createIndex }) => createIndex >= job.CreateIndex,
    )
    for (const [group, counts] of Object.entries(summary.Summary))
      for (const [bucket, status] of Object.entries(BUCKETS)) {
        const recount = rows.filter((row) => row.group === group && row.status === status).length
        // Proof: the keys of BUCKETS are exactly its names.
        const told = counts[bucket as keyof typeof BUCKETS]
        if (told !== recount)
          throw new Violation(
            'a summary equals a recount',
            `${key} group ${group}: ${bucket} ${told}, counted ${recount}`,
          )
      }
    const children = model.jobs.in(`parent ${key}`)
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
    const members = [...(this.#members.get(deployment.ID)?.entries() ?? [])]
    for (const [group, state] of Object.entries(deployment.TaskGroups)) {
      const own = members.filter(([, member]) => member.group === group)
      const told = [
        state.PlacedAllocs,
        state.HealthyAllocs,
        state.UnhealthyAllocs,
        (state.PlacedCanaries ?? []).length,
      ]
      const recount = [
        own.length,
        own.filter(([, { healthy }]) => healthy === true).length,
        own.filter(([, { healthy }]) => healthy === false).length,
        own.filter(([, { isCanary }]) => isCanary).length,
      ]
      if (told.join() !== recount.join())
        throw new Violation(
          'counters of a deployment equal a recount',
          `${deployment.JobID} ${deployment.ID} group ${group}: placed, healthy, unhealthy, canaries ${told.join()}, counted ${recount.join()}`,
        )
    }
  }
}

function checkStatus(
  model: Model,
  key: string,
  { job, wasEvaluated }: { readonly job: Job; readonly wasEvaluated: boolean },
): void {
  const status = jobStatus(job, {
    hasActiveDeployment: model.deployments.in(`job ${key}`).some(isActiveDeployment),
    hasLiveAllocation: model.allocations.in(`job ${key}`).some((row) => !isTerminal(row)),
    hasOpenEvaluation: model.evaluations.in(`job ${key}`).some(isOpenEvaluation),
    hadEvaluation: wasEvaluated,
  })
  const isDesired = job.Type === 'service' && job.TaskGroups.some(({ Count }) => Count > 0)
  if (isDesired && !job.Stop && job.Status === 'dead')
    throw new Violation('a service that is not stopped is never dead', key)
  if (status !== job.Status)
    throw new Violation(
      'the status of a job follows from what belongs to it',
      `${key} is ${job.Status} and should be ${status}`,
    )
}

function mapIn<V>(maps: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const known = maps.get(key) ?? new Map<string, V>()
  maps.set(key, known)
  return known
}
