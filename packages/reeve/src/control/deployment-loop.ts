import type { Deployment } from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { Heap } from '@reeve/kit/heap.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { groupsOnTrial, type AllocationRow } from '../model/index.ts'
import {
  failureRows,
  jobVersionKey,
  namespacedKey,
  planFailure,
  promotionRows,
  put,
  rolloutEvaluation,
  withJobRows,
  type Cause,
  type Change,
  type Commit,
  type RolloutWrite,
  type Stamp,
  type Store,
} from '../state/index.ts'
import type { ControlLog } from './control-log.ts'
import {
  decideDeployment,
  type DeploymentView,
  type WatchDecision,
} from './deployment/decide-deployment.ts'

/**
 * Allocations of one wave become healthy at about the same time; one evaluation serves all that
 * speak within this time.
 */
const LOOK_AFTER_MS = 100
/** After a fault of the storage deployments are looked at again: nothing else would wake them. */
const RETRY_AFTER_MS = 1_000
/** The machine's clock may be set: no wait is longer than this, so it is noticed. */
const WAKE_AFTER_MS_MAX = 60_000
/** Deployments, and allocations of each, that one look takes in; the rest has the next one. */
const DEPLOYMENTS_PER_LOOK = 100
const ALLOCATIONS_PER_LOOK = 1_000

export interface DeploymentLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: ControlLog
  /** Corrects the deadlines first if the clock has jumped. */
  readonly checkClock: () => void
}

interface Wake {
  readonly id: string
  readonly dueMs: number
}

/**
 * Moves deployments on by the health of their allocations. What it keeps is only what is still to
 * be looked at: after a start that is everything that is rolled out.
 */
export class DeploymentLoop {
  readonly #options: DeploymentLoopOptions
  /** Deployments to look at, each with its allocations that changed. */
  readonly #touched = new Map<string, Set<string>>()
  /** Up to which index the health in a deployment has been acted on. */
  readonly #judged = new Map<string, number>()
  /** The earliest entry of each deployment in the heap. */
  readonly #wakes = new Map<string, number>()
  readonly #heap = new Heap<Wake>((a, b) => a.dueMs - b.dueMs || compareText(a.id, b.id))
  #unsubscribe: () => void = () => undefined
  #cancelTimer: () => void = () => undefined
  #cancelLook: (() => void) | undefined

  constructor(options: DeploymentLoopOptions) {
    this.#options = options
  }

  /** Takes up whatever is rolled out, then follows the log. */
  start(): void {
    const { store } = this.#options
    const { deployments, allocations } = store.tables
    this.#unsubscribe = store.log.subscribe((commits) => this.#follow(commits))
    for (const id of deployments.keys())
      if (this.#isActive(id)) this.#touch(id, allocations.keysIn('deployment', id))
    this.#lookIn(0)
  }

  stop(): void {
    this.#unsubscribe()
    this.#cancelTimer()
    this.#cancelLook?.()
  }

  #follow(commits: readonly Commit[]): void {
    const { allocations } = this.#options.store.tables
    for (const commit of commits)
      for (const { table, key } of commit.rows) {
        if (table === 'deployments') this.#touch(key, [])
        else if (table === 'allocations') {
          const id = allocations.groupOf('deployment', key)
          if (id !== undefined) this.#touch(id, [key])
        }
      }
    this.#lookIn(LOOK_AFTER_MS)
  }

  #isActive(id: string): boolean {
    return this.#options.store.tables.deployments.groupOf('active', id) !== undefined
  }

  #touch(id: string, allocationIds: Iterable<string>): void {
    if (!this.#isActive(id)) {
      this.#judged.delete(id)
      return
    }
    const known = this.#touched.get(id) ?? new Set<string>()
    for (const key of allocationIds) known.add(key)
    this.#touched.set(id, known)
  }

  /** One look serves all that is touched until then. */
  #lookIn(delayMs: number): void {
    if (this.#touched.size === 0) return
    this.#cancelLook ??= this.#options.clock.after(delayMs, () => {
      this.#cancelLook = undefined
      this.#look()
    })
  }

  #look(): void {
    const { log, checkClock } = this.#options
    checkClock()
    let taken = 0
    for (const id of this.#touched.keys()) {
      if (taken++ === DEPLOYMENTS_PER_LOOK) break
      try {
        this.#judge(id)
      } catch (thrown) {
        if (thrown instanceof Fault) {
          log.warn({ deployment: id, err: errorMessage(thrown) }, 'a deployment could not go on')
          return this.#lookIn(RETRY_AFTER_MS)
        }
        // A mistake of ours holds up this deployment until it changes, and no other.
        log.error({ deployment: id, err: thrown }, 'deployment not looked at')
        this.#touched.delete(id)
      }
    }
    this.#arm()
    this.#lookIn(0)
  }

  #judge(id: string): void {
    const { store, clock } = this.#options
    const touched = [...(this.#touched.get(id) ?? [])]
    const [now, rest] = [
      touched.slice(0, ALLOCATIONS_PER_LOOK),
      touched.slice(ALLOCATIONS_PER_LOOK),
    ]
    const deployment = store.tables.deployments.find(id)
    // Up to here its allocations were touched; what is applied since is told of when it is durable.
    const seenIndex = store.durableIndex
    const decision =
      deployment === undefined
        ? undefined
        : decideDeployment(this.#viewOf(deployment, now), deployment, clock.nowMs())
    if (deployment !== undefined && decision !== undefined) this.#carryOut(deployment, decision)
    if (rest.length > 0) this.#touched.set(id, new Set(rest))
    else {
      this.#touched.delete(id)
      if (this.#isActive(id)) this.#judged.set(id, seenIndex)
    }
    if (decision?.nextMs !== undefined) this.#wakeAt(id, decision.nextMs)
  }

  #viewOf(deployment: Deployment, allocationIds: readonly string[]): DeploymentView {
    const { allocations, jobs } = this.#options.store.tables
    return {
      changed: allocationIds.toSorted(compareText).flatMap((key) => allocations.find(key) ?? []),
      judgedIndex: this.#judged.get(deployment.ID) ?? 0,
      hasOtherVersions: this.#hasOtherVersions(deployment),
      findJob: (namespace, jobId) => jobs.find(namespacedKey(namespace, jobId)),
      findAllocation: (key) => allocations.find(key),
      findAllocations: () => allocations.rowsIn('deployment', deployment.ID),
    }
  }

  /** Known from the indexes alone; those that ended long ago count too. */
  #hasOtherVersions({ Namespace, JobID, JobVersion }: Deployment): boolean {
    const { allocations } = this.#options.store.tables
    const all = allocations.countIn('job', namespacedKey(Namespace, JobID))
    return all > allocations.countIn('version', jobVersionKey(Namespace, JobID, JobVersion))
  }

  /** Each commit is told of by its own type of event. */
  #carryOut(deployment: Deployment, decision: WatchDecision): void {
    const { store, log } = this.#options
    const { tables } = store
    const fields = { deployment: deployment.ID, job: deployment.JobID }
    if (decision.failure !== undefined) {
      const failure = planFailure(tables, deployment, decision.failure)
      this.#commit('DeploymentStatusUpdate', (write) => failureRows(tables, failure, write))
      log.info({ ...fields, reason: failure.text }, 'deployment failed')
      return
    }
    if (decision.promotes) {
      const promotion = { deployment, groups: groupsOnTrial(deployment) }
      this.#commit('DeploymentPromotion', (write) => promotionRows(tables, promotion, write))
      log.info(fields, 'canaries promoted')
    }
    const { marks } = decision
    if (marks.length > 0)
      this.#commit('AllocationUpdateDesiredStatus', (write) => [
        ...marks.map((row) => put('allocations', markedRow(row, write.stamp))),
        ...rolloutEvaluation(tables, deployment, write),
      ])
    else if (decision.evaluates && !decision.promotes)
      this.#commit('EvaluationUpdated', (write) => rolloutEvaluation(tables, deployment, write))
  }

  #commit(cause: Cause, rows: (write: RolloutWrite) => readonly Change[]): void {
    const { store, ids } = this.#options
    const evalId = ids.uuid()
    store.commit({
      by: 'system',
      cause,
      changes: (stamp) => withJobRows(store.tables, rows({ stamp, ids, evalId })),
    })
  }

  /** An entry that comes too early only costs a look; so there is one for each deployment. */
  #wakeAt(id: string, dueMs: number): void {
    const known = this.#wakes.get(id)
    if (known !== undefined && known <= dueMs) return
    this.#wakes.set(id, dueMs)
    this.#heap.push({ id, dueMs })
  }

  #arm(): void {
    this.#cancelTimer()
    const next = this.#heap.peek()
    if (next === undefined) return
    const { clock } = this.#options
    const delayMs = Math.min(Math.max(0, next.dueMs - clock.nowMs()), WAKE_AFTER_MS_MAX)
    this.#cancelTimer = clock.after(delayMs, () => this.#wake())
  }

  #wake(): void {
    const nowMs = this.#options.clock.nowMs()
    for (let next = this.#heap.peek(); next !== undefined; next = this.#heap.peek()) {
      if (next.dueMs > nowMs) break
      this.#heap.pop()
      if (this.#wakes.get(next.id) !== next.dueMs) continue
      this.#wakes.delete(next.id)
      this.#touch(next.id, [])
    }
    this.#arm()
    this.#lookIn(0)
  }
}

/** The scheduler may replace it though it is part of a deployment. */
function markedRow(row: AllocationRow, { index, timeMs }: Stamp): AllocationRow {
  return {
    ...row,
    DesiredTransition: { ...row.DesiredTransition, Reschedule: true },
    AllocModifyIndex: index,
    ModifyTime: nsFromMs(timeMs),
  }
}
