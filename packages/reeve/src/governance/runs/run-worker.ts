import { v2 } from '@reeve/contract'
import { FairQueue } from '@reeve/kit/fair-queue.ts'
import { Fault, errorMessage, OVERLOADED } from '@reeve/kit/fault.ts'
import type { Logger } from '@reeve/kit/log.ts'
import type { RunRow } from '../../model/index.ts'
import { organizationTenant } from '../../policy/index.ts'
import { compareCreation, put } from '../../state/index.ts'
import { commitSystemWrite } from '../commit.ts'
import type { GovernanceOptions } from '../context.ts'
import { cancelUnfinishedChanges } from './run-changes.ts'
import { unsealSnapshots } from './policy-set-snapshots.ts'
import { recordEvaluationChanges, erroredRunChanges } from './record-evaluation.ts'
import { evaluatePolicySets, runInput } from './evaluate-sets.ts'
import { transitionRun } from './run-status.ts'
import { readPlanBytes } from './plans.ts'

/** Maximum delay in expiring a run without a plan upload. */
const EXPIRY_INTERVAL_MS = 60_000

/** Delay before a run is retried when the queue of policy evaluations is full. */
const RETRY_AFTER_MS = 2_000

const RESOLVED = Promise.resolve()

/** Evaluation time per turn of an organization: slower policies get fewer turns. */
const TURN_BUDGET_MS = 50

/** Runs expired in one commit; the rest follow in the next round. */
const EXPIRED_PER_COMMIT_MAX = 200

interface RunWorkerOptions {
  readonly context: GovernanceOptions
  readonly log: Pick<Logger, 'warn'>
}

/**
 * Evaluates policies for uploaded plans, one run after the other, and expires runs whose plan never
 * arrived. Organizations are served round-robin, so many or slow plans delay only their own
 * organization. All work is derived from the runs, so a restarted server continues where the
 * previous one stopped.
 */
export class RunWorker {
  readonly #context: GovernanceOptions
  readonly #log: Pick<Logger, 'warn'>
  /** IDs of pending runs, in a queue and as a set. */
  readonly #queue = new FairQueue<string>({
    // The runs are in memory already.
    itemsMax: Number.POSITIVE_INFINITY,
    itemsPerTenantMax: Number.POSITIVE_INFINITY,
    quantum: TURN_BUDGET_MS,
  })
  readonly #queued = new Set<string>()
  #cancelTimer: () => void = () => undefined
  #cancelRetry: () => void = () => undefined
  #cancelWatch: () => void = () => undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor({ context, log }: RunWorkerOptions) {
    this.#context = context
    this.#log = log
  }

  start(): void {
    this.#watchRuns()
    this.#scheduleExpiry()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    this.#cancelRetry()
    this.#cancelWatch()
    await this.#running
  }

  /** Evaluates all pending runs; also called by tests. Only one round runs at a time. */
  evaluatePending(): Promise<void> {
    this.#running ??= this.#runOnce().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Expires the runs that have waited too long for their plan. */
  expireOverdue(): void {
    const { store, clock } = this.#context
    const nowMs = clock.nowMs()
    const overdue = store.tables.runs
      .rowsByIndex('status', 'pending')
      // An executed run waits for its turn without a limit. A creation time in the future comes
      // from a server with a wrong clock, so the age is unknown.
      .filter(({ execution }) => execution === undefined)
      .filter(({ createdMs }) => Math.abs(nowMs - createdMs) >= v2.PLAN_UPLOAD_WAIT_MS_MAX)
    try {
      for (let index = 0; index < overdue.length; index += EXPIRED_PER_COMMIT_MAX)
        commitSystemWrite(this.#context, {
          changes: overdue
            .slice(index, index + EXPIRED_PER_COMMIT_MAX)
            .flatMap((run) => [
              put('runs', transitionRun(run, ['errored'], nowMs)),
              ...cancelUnfinishedChanges(store.tables, run, nowMs),
            ]),
          emitsEvents: true,
        })
    } catch (thrown) {
      // The storage failed; the next start expires them.
      if (!(thrown instanceof Fault)) throw thrown
      this.#log.warn({ err: errorMessage(thrown) }, 'expiry of runs failed')
    }
  }

  /** A commit only triggers a round; the work is read from the table. */
  #watchRuns(): void {
    if (this.#stopped) return
    this.#cancelWatch = this.#context.store.watches.watch([{ table: 'runs' }], () =>
      this.#watchRuns(),
    )
    // The current round may be past its reads, so another one follows.
    void (this.#running ?? RESOLVED).then(() => this.evaluatePending())
  }

  #scheduleExpiry(): void {
    this.#cancelTimer = this.#context.clock.after(EXPIRY_INTERVAL_MS, () => {
      this.#scheduleExpiry()
      this.expireOverdue()
    })
  }

  async #runOnce(): Promise<void> {
    const { clock } = this.#context
    for (let run = this.#takeNext(); run !== undefined && !this.#stopped; run = this.#takeNext()) {
      const startMs = clock.nowMs()
      if (!(await this.#processRun(run))) return
      const spentMs = clock.nowMs() - startMs
      if (spentMs > TURN_BUDGET_MS) this.#queue.charge(run.organizationId, spentMs - TURN_BUDGET_MS)
    }
  }

  /** Returns whether the next run may be tried. */
  async #processRun(run: RunRow): Promise<boolean> {
    try {
      await this.#evaluateRun(run).catch((thrown: unknown) => {
        if (this.#stopped || this.#context.store.fault !== undefined) throw thrown
        if (thrown instanceof Fault && thrown.kind === OVERLOADED) throw thrown
        this.#log.warn({ run: run.id, err: errorMessage(thrown) }, 'policy evaluation failed')
        this.#failRun(run)
      })
      return true
    } catch (thrown) {
      // The storage failed or the server stops: the next start continues. An overload is transient
      // and is retried.
      if (thrown instanceof Fault && thrown.kind === OVERLOADED) this.#retryLater()
      this.#log.warn(
        { run: run.id, err: errorMessage(thrown) },
        'policy evaluation of a run was interrupted',
      )
      return false
    }
  }

  #retryLater(): void {
    this.#cancelRetry()
    this.#cancelRetry = this.#context.clock.after(RETRY_AFTER_MS, () => void this.evaluatePending())
  }

  /** Returns the oldest pending run of the organization whose turn it is. */
  #takeNext(): RunRow | undefined {
    const { runs } = this.#context.store.tables
    this.#enqueueNew()
    for (let id = this.#queue.take(); id !== undefined; id = this.#queue.take()) {
      this.#queued.delete(id)
      const run = runs.find(id)
      if (run?.status === 'post_plan_running') return run
    }
    return undefined
  }

  #enqueueNew(): void {
    const { runs } = this.#context.store.tables
    const added = [...runs.keysByIndex('status', 'post_plan_running')]
      .filter((key) => !this.#queued.has(key))
      .map((key) => ({ key, createIndex: runs.createIndexOf(key) ?? 0 }))
      .toSorted(compareCreation)
    for (const { key } of added) {
      this.#queued.add(key)
      this.#queue.push(runs.get(key).organizationId, key, TURN_BUDGET_MS)
    }
  }

  async #evaluateRun(run: RunRow): Promise<void> {
    const { store, clock } = this.#context
    const startMs = clock.nowMs()
    const plan = store.tables.run_plans.get(run.planId)
    const document = await readPlanBytes(this.#context, plan)
    if (document === undefined || plan.frozenSets === null)
      throw new Fault('plan-gone', 'the plan of the run is not stored any more')
    const sets = unsealSnapshots(this.#context, plan.frozenSets)
    const origin = { tenant: organizationTenant(run.organizationId) }
    const request = { plan: document, run: runInput(this.#context, run), origin }
    const results = await evaluatePolicySets(this.#context, sets, request)
    // The run may have been canceled during the evaluation. If the server stops, the next one
    // repeats the evaluation.
    if (this.#stopped || store.tables.runs.find(run.id)?.status !== 'post_plan_running') return
    const durationMs = clock.nowMs() - startMs
    const evaluated = { run, plan, sets, results, durationMs }
    const changes = recordEvaluationChanges(this.#context, evaluated)
    await commitSystemWrite(this.#context, { changes, emitsEvents: true }).durable
  }

  /** Fails closed: a run whose policies cannot be evaluated does not continue. */
  #failRun({ id }: RunRow): void {
    const { store } = this.#context
    const run = store.tables.runs.find(id)
    if (run?.status !== 'post_plan_running') return
    const changes = erroredRunChanges(this.#context, run)
    commitSystemWrite(this.#context, { changes, emitsEvents: true })
  }
}
