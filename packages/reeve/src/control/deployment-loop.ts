import type { Deployment } from '@reeve/contract'
import type { Clock, IdSource } from '@reeve/kit/clock.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { Heap } from '@reeve/kit/heap.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { groupsAwaitingPromotion, type AllocationRow } from '../model/index.ts'
import {
  failureRows,
  jobVersionKey,
  namespacedKey,
  decideFailure,
  promotionRows,
  put,
  deploymentEvaluation,
  withDerivedRows,
  type Cause,
  type Change,
  type Commit,
  type DeploymentWrite,
  type Stamp,
  type Store,
} from '../state/index.ts'
import type { Logger } from '@reeve/kit/log.ts'
import {
  decideDeploymentProgress,
  type DeploymentView,
  type ProgressDecision,
} from './decide-deployment.ts'

/**
 * Delay before a check: allocations of one batch become healthy at about the same time and share
 * one evaluation.
 */
const CHECK_DELAY_MS = 100
/** Delay before a retry after a storage fault; no other event triggers it. */
const RETRY_DELAY_MS = 1_000
/** Maximum timer delay, so that changes of the clock are noticed. */
const MAX_TIMER_MS = 60_000
/** Maximum number of deployments, and of allocations of each, per check. */
const DEPLOYMENTS_PER_CHECK = 100
const ALLOCATIONS_PER_CHECK = 1_000

interface DeploymentLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: IdSource
  readonly log: Omit<Logger, 'debug'>
  /** Corrects stored deadlines if the clock has jumped. */
  readonly checkClock: () => void
}

interface WakeUp {
  readonly id: string
  readonly dueMs: number
}

/**
 * Drives deployments by the health of their allocations. Its memory only holds what is still to be
 * checked; after a start these are all active deployments.
 */
export class DeploymentLoop {
  readonly #options: DeploymentLoopOptions
  /** Deployments to check, with their changed allocations. */
  readonly #dirty = new Map<string, Set<string>>()
  /** Index up to which the health of each deployment has been processed. */
  readonly #processedIndex = new Map<string, number>()
  /** Earliest heap entry of each deployment. */
  readonly #wakeUpMs = new Map<string, number>()
  readonly #wakeUps = new Heap<WakeUp>((a, b) => a.dueMs - b.dueMs || compareText(a.id, b.id))
  #unsubscribe: () => void = () => undefined
  #cancelTimer: () => void = () => undefined
  #cancelCheck: (() => void) | undefined

  constructor(options: DeploymentLoopOptions) {
    this.#options = options
  }

  /** Checks all active deployments, then follows the log. */
  start(): void {
    const { store } = this.#options
    const { deployments, allocations } = store.tables
    this.#unsubscribe = store.log.subscribe((commits) => this.#onCommits(commits))
    for (const id of deployments.keys())
      if (this.#isActive(id)) this.#markDirty(id, allocations.keysByIndex('deployment', id))
    this.#scheduleCheck(0)
  }

  stop(): void {
    this.#unsubscribe()
    this.#cancelTimer()
    this.#cancelCheck?.()
  }

  #onCommits(commits: readonly Commit[]): void {
    const { allocations } = this.#options.store.tables
    for (const commit of commits)
      for (const { table, key } of commit.rows) {
        if (table === 'deployments') this.#markDirty(key, [])
        else if (table === 'allocations') {
          const id = allocations.indexKeyOf('deployment', key)
          if (id !== undefined) this.#markDirty(id, [key])
        }
      }
    this.#scheduleCheck(CHECK_DELAY_MS)
  }

  #isActive(id: string): boolean {
    return this.#options.store.tables.deployments.indexKeyOf('active', id) !== undefined
  }

  #markDirty(id: string, allocationIds: Iterable<string>): void {
    if (!this.#isActive(id)) {
      this.#processedIndex.delete(id)
      return
    }
    const dirtyIds = this.#dirty.get(id) ?? new Set<string>()
    for (const key of allocationIds) dirtyIds.add(key)
    this.#dirty.set(id, dirtyIds)
  }

  /** Schedules one check for everything that is marked until then. */
  #scheduleCheck(delayMs: number): void {
    if (this.#dirty.size === 0) return
    this.#cancelCheck ??= this.#options.clock.after(delayMs, () => {
      this.#cancelCheck = undefined
      this.#check()
    })
  }

  #check(): void {
    const { log, checkClock } = this.#options
    checkClock()
    let checkedCount = 0
    for (const id of this.#dirty.keys()) {
      if (checkedCount++ === DEPLOYMENTS_PER_CHECK) break
      try {
        this.#evaluate(id)
      } catch (thrown) {
        if (thrown instanceof Fault) {
          log.warn({ deployment: id, err: errorMessage(thrown) }, 'a deployment could not go on')
          return this.#scheduleCheck(RETRY_DELAY_MS)
        }
        // A bug blocks only this deployment, until it changes.
        log.error({ deployment: id, err: thrown }, 'deployment check failed')
        this.#dirty.delete(id)
      }
    }
    this.#armTimer()
    this.#scheduleCheck(0)
  }

  #evaluate(id: string): void {
    const { store, clock } = this.#options
    const dirtyIds = [...(this.#dirty.get(id) ?? [])]
    const [batch, remaining] = [
      dirtyIds.slice(0, ALLOCATIONS_PER_CHECK),
      dirtyIds.slice(ALLOCATIONS_PER_CHECK),
    ]
    const deployment = store.tables.deployments.find(id)
    // Later changes are delivered by the log once durable, so everything up to this index has been
    // seen.
    const durableIndex = store.durableIndex
    const decision =
      deployment === undefined
        ? undefined
        : decideDeploymentProgress(this.#viewOf(deployment, batch), deployment, clock.nowMs())
    if (deployment !== undefined && decision !== undefined)
      this.#applyDecision(deployment, decision)
    if (remaining.length > 0) this.#dirty.set(id, new Set(remaining))
    else {
      this.#dirty.delete(id)
      if (this.#isActive(id)) this.#processedIndex.set(id, durableIndex)
    }
    if (decision?.nextCheckMs !== undefined) this.#scheduleWakeUp(id, decision.nextCheckMs)
  }

  #viewOf(deployment: Deployment, allocationIds: readonly string[]): DeploymentView {
    const { allocations, jobs } = this.#options.store.tables
    return {
      changed: allocationIds.toSorted(compareText).flatMap((key) => allocations.find(key) ?? []),
      processedIndex: this.#processedIndex.get(deployment.ID) ?? 0,
      hasOtherVersions: this.#hasOtherVersions(deployment),
      findJob: (namespace, jobId) => jobs.find(namespacedKey(namespace, jobId)),
      findAllocation: (key) => allocations.find(key),
      findAllocations: () => allocations.rowsByIndex('deployment', deployment.ID),
    }
  }

  /** Answered from indexes; allocations that terminated long ago count too. */
  #hasOtherVersions({ Namespace, JobID, JobVersion }: Deployment): boolean {
    const { allocations } = this.#options.store.tables
    const allocationCount = allocations.countByIndex('job', namespacedKey(Namespace, JobID))
    return (
      allocationCount >
      allocations.countByIndex('version', jobVersionKey(Namespace, JobID, JobVersion))
    )
  }

  /** Applies the decision; each commit produces its own event type. */
  #applyDecision(deployment: Deployment, decision: ProgressDecision): void {
    const { store, log } = this.#options
    const { tables } = store
    const fields = { deployment: deployment.ID, job: deployment.JobID }
    if (decision.failure !== undefined) {
      const failure = decideFailure(tables, deployment, decision.failure)
      this.#commit('DeploymentStatusUpdate', (write) => failureRows(tables, failure, write))
      log.info({ ...fields, reason: failure.statusDescription }, 'deployment failed')
      return
    }
    if (decision.shouldPromote) {
      const promotion = { deployment, groups: groupsAwaitingPromotion(deployment) }
      this.#commit('DeploymentPromotion', (write) => promotionRows(tables, promotion, write))
      log.info(fields, 'canaries promoted')
    }
    const { toReschedule } = decision
    if (toReschedule.length > 0)
      this.#commit('AllocationUpdateDesiredStatus', (write) => [
        ...toReschedule.map((row) => put('allocations', withReschedule(row, write.stamp))),
        ...deploymentEvaluation(tables, deployment, write),
      ])
    else if (decision.shouldEvaluate && !decision.shouldPromote)
      this.#commit('EvaluationUpdated', (write) => deploymentEvaluation(tables, deployment, write))
  }

  #commit(cause: Cause, changesOf: (write: DeploymentWrite) => readonly Change[]): void {
    const { store, ids } = this.#options
    const evalId = ids.uuid()
    store.commit({
      by: 'system',
      cause,
      changes: (stamp) => withDerivedRows(store.tables, changesOf({ stamp, ids, evalId })),
    })
  }

  /**
   * Schedules a wake-up. One that is too early only costs a check, so each deployment has at most
   * one.
   */
  #scheduleWakeUp(id: string, dueMs: number): void {
    const scheduledMs = this.#wakeUpMs.get(id)
    if (scheduledMs !== undefined && scheduledMs <= dueMs) return
    this.#wakeUpMs.set(id, dueMs)
    this.#wakeUps.push({ id, dueMs })
  }

  #armTimer(): void {
    this.#cancelTimer()
    const next = this.#wakeUps.peek()
    if (next === undefined) return
    const { clock } = this.#options
    const delayMs = Math.min(Math.max(0, next.dueMs - clock.nowMs()), MAX_TIMER_MS)
    this.#cancelTimer = clock.after(delayMs, () => this.#onTimer())
  }

  #onTimer(): void {
    const nowMs = this.#options.clock.nowMs()
    for (let next = this.#wakeUps.peek(); next !== undefined; next = this.#wakeUps.peek()) {
      if (next.dueMs > nowMs) break
      this.#wakeUps.pop()
      if (this.#wakeUpMs.get(next.id) !== next.dueMs) continue
      this.#wakeUpMs.delete(next.id)
      this.#markDirty(next.id, [])
    }
    this.#armTimer()
    this.#scheduleCheck(0)
  }
}

/** Allows the scheduler to replace an allocation of the deployment. */
function withReschedule(row: AllocationRow, { index, timeMs }: Stamp): AllocationRow {
  return {
    ...row,
    DesiredTransition: { ...row.DesiredTransition, Reschedule: true },
    AllocModifyIndex: index,
    ModifyTime: nsFromMs(timeMs),
  }
}
