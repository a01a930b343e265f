import type { AllocationDeploymentStatus, Deployment, Evaluation, Job } from '@reeve/contract'
import { isoFromMs } from '@reeve/kit/duration.ts'
import {
  applyToCounters,
  isTerminal,
  mergeReportedHealth,
  withGroupStates,
  type AllocationRow,
  type PublicNode,
} from '../../src/model/index.ts'
import { schedule, type Plan } from '../../src/scheduler/index.ts'
import { aCluster, NOW_MS } from './cluster.ts'
import { anEvaluation } from './evaluation.ts'
import { countedIds, seededRandom } from './ids.ts'
import { nodes } from './node.ts'

/**
 * A cluster that lives: it carries out plans as the servers do, and says of its allocations what
 * their nodes would. Nothing happens by itself.
 */
export class World {
  nodes: readonly PublicNode[]
  nowMs = NOW_MS
  readonly rows = new Map<string, AllocationRow>()
  readonly deployments = new Map<string, Deployment>()
  readonly versions: Job[] = []
  /** Evaluations that are over; whatever else an allocation waits for is still to come. */
  readonly over: string[] = []
  /** Follow-ups that were not carried out yet. */
  readonly #waiting = new Map<string, Evaluation>()
  #index = 1_000
  readonly #ids = countedIds()
  readonly #random = seededRandom(1)

  constructor(cluster: number | readonly PublicNode[] = 1) {
    this.nodes = typeof cluster === 'number' ? nodes(cluster) : cluster
  }

  get job(): Job {
    const job = this.versions.at(-1)
    if (job === undefined) throw new Error('no job was registered')
    return job
  }

  /** The newest deployment. */
  get deployment(): Deployment | undefined {
    return [...this.deployments.values()].at(-1)
  }

  /** Allocations that neither side has ended, in order of names and age. */
  get live(): readonly AllocationRow[] {
    return [...this.rows.values()]
      .filter((row) => !isTerminal(row))
      .toSorted((a, b) => (a.Name < b.Name ? -1 : a.Name > b.Name ? 1 : 0))
  }

  get names(): readonly string[] {
    return this.live.map((row) => row.Name)
  }

  /** Registers the job, or its next version, and evaluates it. */
  register(job: Job, evaluation: Partial<Evaluation> = {}): Plan {
    this.#index += 1
    this.versions.push({
      ...job,
      Version: this.versions.length,
      CreateIndex: this.versions[0]?.CreateIndex ?? this.#index,
      ModifyIndex: this.#index,
      JobModifyIndex: this.#index,
    })
    return this.evaluate(evaluation)
  }

  evaluate(fields: Partial<Evaluation> = {}): Plan {
    const view = aCluster({
      nodes: this.nodes,
      job: this.job,
      versions: this.versions.slice(0, -1),
      allocations: [...this.rows.values()],
      deployments: [...this.deployments.values()],
      over: this.over,
      waiting: [...this.#waiting.values()],
    })
    const evaluation = { ...anEvaluation(this.job, { ID: this.#ids.uuid() }), ...fields }
    const plan = schedule(view, evaluation, {
      nowMs: this.nowMs,
      ids: this.#ids,
      random: this.#random,
    })
    this.#waiting.delete(evaluation.ID)
    for (const row of plan.followUpEvaluations) this.#waiting.set(row.ID, row)
    this.#apply(plan)
    return plan
  }

  /** Evaluates until nothing changes any more; answers how often. */
  settle(most = 50): number {
    for (let round = 0; round < most; round++) {
      const plan = this.evaluate({ TriggeredBy: 'deployment-watcher' })
      const rows = [
        plan.placements,
        plan.stops,
        plan.updates,
        plan.attributeUpdates,
        plan.deploymentUpdates,
      ]
      if (plan.deployment === undefined && rows.every((list) => list.length === 0)) return round
    }
    throw new Error('the evaluations do not come to an end')
  }

  /** What the node of an allocation says about it. */
  report(row: AllocationRow | undefined, fields: Partial<AllocationRow>): void {
    const before = this.rows.get(row?.ID ?? '')
    if (before === undefined) throw new Error('no such allocation')
    this.#index += 1
    this.#write([{ ...before, ...fields }])
  }

  /** Says that allocations run and whether they are well. */
  health(rows: readonly (AllocationRow | undefined)[], healthy: boolean): void {
    for (const row of rows) {
      const before = this.rows.get(row?.ID ?? '')
      if (before === undefined) throw new Error('no such allocation')
      const status: AllocationDeploymentStatus = {
        Healthy: healthy,
        Timestamp: isoFromMs(this.nowMs),
        Canary: false,
        ModifyIndex: 0,
      }
      const DeploymentStatus = mergeReportedHealth({
        row: before,
        clientStatus: 'running',
        reportedStatus: status,
        index: this.#index + 1,
        timeMs: this.nowMs,
      })
      this.report(before, { ClientStatus: 'running', DeploymentStatus })
    }
  }

  /** What agents do: everything that should run runs and is well, everything else has ended. */
  obey(): void {
    for (const row of this.rows.values())
      if (row.DesiredStatus !== 'run' && !isClientEnded(row))
        this.report(row, { ClientStatus: 'complete' })
    this.health(
      this.live.filter((row) => (row.DeploymentStatus?.Healthy ?? null) === null),
      true,
    )
  }

  /** What the promotion of a deployment writes. */
  promote(): void {
    const { deployment } = this
    if (deployment === undefined) throw new Error('nothing to promote')
    const states = Object.entries(deployment.TaskGroups)
    this.deployments.set(
      deployment.ID,
      withGroupStates(
        deployment,
        new Map(states.map(([name, state]) => [name, { ...state, Promoted: true }])),
      ),
    )
    for (const row of this.live) {
      const status = row.DeploymentStatus
      if (row.DeploymentID === deployment.ID && status?.Healthy === true)
        this.report(row, { DeploymentStatus: { ...status, Canary: false } })
    }
  }

  /** What the watcher and the endpoints write. */
  setDeployment(fields: Partial<Deployment>): void {
    const { deployment } = this
    if (deployment === undefined) throw new Error('no deployment')
    this.deployments.set(deployment.ID, { ...deployment, ...fields })
  }

  setNode(id: string, fields: Partial<PublicNode>): void {
    this.nodes = this.nodes.map((node) => (node.ID === id ? { ...node, ...fields } : node))
  }

  #apply(plan: Plan): void {
    this.#index += 1
    const written = [
      ...(plan.deployment === undefined ? [] : [plan.deployment]),
      ...plan.deploymentUpdates,
    ]
    for (const row of written)
      this.deployments.set(row.ID, {
        ...row,
        CreateIndex: this.deployments.get(row.ID)?.CreateIndex ?? this.#index,
      })
    this.#write([
      ...plan.placements,
      ...plan.stops,
      ...plan.updates,
      ...plan.attributeUpdates,
      ...plan.preemptions,
    ])
    for (const { Status, JobVersion } of plan.deploymentUpdates) {
      const version = this.versions[JobVersion]
      if (Status === 'successful' && version !== undefined)
        this.versions[JobVersion] = { ...version, Stable: true }
    }
  }

  #write(rows: readonly AllocationRow[]): void {
    const changes = rows.map((after) => ({ before: this.rows.get(after.ID), after }))
    for (const [id, deployment] of this.deployments)
      this.deployments.set(id, applyToCounters(deployment, changes))
    for (const { before, after } of changes)
      this.rows.set(after.ID, {
        ...after,
        CreateIndex: before?.CreateIndex ?? this.#index,
        ModifyIndex: this.#index,
      })
  }
}

function isClientEnded({ ClientStatus }: AllocationRow): boolean {
  return ClientStatus === 'complete' || ClientStatus === 'failed' || ClientStatus === 'lost'
}
