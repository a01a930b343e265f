import { v2 } from '@reeve/contract'
import { FairQueue } from '@reeve/kit/fair-queue.ts'
import { Fault, errorMessage, OVERLOADED } from '@reeve/kit/fault.ts'
import type { RunRow } from '../../model/index.ts'
import { organizationTenant } from '../../policy/index.ts'
import { compareCreation, put } from '../../state/index.ts'
import { GOVERNANCE_CAUSE } from '../commit.ts'
import type { GovernanceHost } from '../context.ts'
import { endedRows } from './ended-rows.ts'
import { openSets } from './frozen-sets.ts'
import { judgedRows, unaskedRows } from './judged-run.ts'
import { judgeSets } from './judge-sets.ts'
import { runSubject } from './run-subject.ts'
import { movedRun } from './run-states.ts'
import { readStoredBytes } from './plan-blobs.ts'

/** Maximum delay in expiring a run without a plan upload. */
const EXPIRE_EVERY_MS = 60_000

/** Delay before a run is retried when the queue of policy evaluations is full. */
const RETRY_AFTER_MS = 2_000

const DONE = Promise.resolve()

/** Evaluation time per turn of an organization: slower policies get fewer turns. */
const TURN_MS = 50

/** Runs expired in one commit; the rest follow in the next round. */
const EXPIRED_MAX = 200

export interface RunLoopLog {
  warn(fields: object, message: string): void
}

export interface RunLoopOptions {
  readonly context: GovernanceHost
  readonly log: RunLoopLog
}

/**
 * Evaluates policies for uploaded plans, one run after the other, and expires runs whose plan never
 * arrived. Organizations are served round-robin, so many or slow plans delay only their own
 * organization. All work is derived from the runs, so a restarted server continues where the
 * previous one stopped.
 */
export class RunLoop {
  readonly #context: GovernanceHost
  readonly #log: RunLoopLog
  /** IDs of pending runs, in a queue and as a set. */
  readonly #queue = new FairQueue<string>({
    // The runs are in memory already.
    itemsMax: Number.POSITIVE_INFINITY,
    itemsPerTenantMax: Number.POSITIVE_INFINITY,
    quantum: TURN_MS,
  })
  readonly #queued = new Set<string>()
  #cancelTimer: () => void = () => undefined
  #cancelRetry: () => void = () => undefined
  #cancelWatch: () => void = () => undefined
  #running: Promise<void> | undefined
  #stopped = false

  constructor({ context, log }: RunLoopOptions) {
    this.#context = context
    this.#log = log
  }

  start(): void {
    this.#follow()
    this.#expireLater()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancelTimer()
    this.#cancelRetry()
    this.#cancelWatch()
    await this.#running
  }

  /** Evaluates all pending runs; also called by tests. Only one round runs at a time. */
  judge(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Expires the runs that have waited too long for their plan. */
  expire(): void {
    const { store, clock } = this.#context
    const nowMs = clock.nowMs()
    const late = store.tables.runs
      .rowsIn('status', 'pending')
      // An executed run waits for its turn without a limit. A creation time in the future comes
      // from a server with a wrong clock, so the age is unknown.
      .filter(({ execution }) => execution === undefined)
      .filter(({ createdMs }) => Math.abs(nowMs - createdMs) >= v2.PLAN_UPLOAD_WAIT_MS_MAX)
    try {
      for (let at = 0; at < late.length; at += EXPIRED_MAX)
        store.commit({
          by: 'system',
          cause: GOVERNANCE_CAUSE,
          changes: () =>
            late
              .slice(at, at + EXPIRED_MAX)
              .flatMap((run) => [
                put('runs', movedRun(run, ['errored'], nowMs)),
                ...endedRows(store.tables, run, nowMs),
              ]),
        })
    } catch (thrown) {
      // The storage failed; the next start expires them.
      if (!(thrown instanceof Fault)) throw thrown
      this.#log.warn({ err: errorMessage(thrown) }, 'expired runs could not be updated')
    }
  }

  /** A commit only triggers a round; the work is read from the table. */
  #follow(): void {
    if (this.#stopped) return
    this.#cancelWatch = this.#context.store.watches.watch([{ table: 'runs' }], () => this.#follow())
    // The current round may be past its reads, so another one follows.
    void (this.#running ?? DONE).then(() => this.judge())
  }

  #expireLater(): void {
    this.#cancelTimer = this.#context.clock.after(EXPIRE_EVERY_MS, () => {
      this.#expireLater()
      this.expire()
    })
  }

  async #round(): Promise<void> {
    const { clock } = this.#context
    for (let run = this.#next(); run !== undefined && !this.#stopped; run = this.#next()) {
      const startMs = clock.nowMs()
      if (!(await this.#settle(run))) return
      const spentMs = clock.nowMs() - startMs
      if (spentMs > TURN_MS) this.#queue.charge(run.organizationId, spentMs - TURN_MS)
    }
  }

  /** Returns whether the next run may be tried. */
  async #settle(run: RunRow): Promise<boolean> {
    try {
      await this.#judgeRun(run).catch((thrown: unknown) => {
        if (this.#stopped || this.#context.store.fault !== undefined) throw thrown
        if (thrown instanceof Fault && thrown.kind === OVERLOADED) throw thrown
        this.#log.warn({ run: run.id, err: errorMessage(thrown) }, 'policy evaluation failed')
        this.#giveUp(run)
      })
      return true
    } catch (thrown) {
      // The storage failed or the server stops: the next start continues. An overload is transient
      // and is retried.
      if (thrown instanceof Fault && thrown.kind === OVERLOADED) this.#judgeLater()
      this.#log.warn(
        { run: run.id, err: errorMessage(thrown) },
        'policy evaluation of a run was interrupted',
      )
      return false
    }
  }

  #judgeLater(): void {
    this.#cancelRetry()
    this.#cancelRetry = this.#context.clock.after(RETRY_AFTER_MS, () => void this.judge())
  }

  /** Returns the oldest pending run of the organization whose turn it is. */
  #next(): RunRow | undefined {
    const { runs } = this.#context.store.tables
    this.#queueNew()
    for (let id = this.#queue.take(); id !== undefined; id = this.#queue.take()) {
      this.#queued.delete(id)
      const run = runs.find(id)
      if (run?.status === 'post_plan_running') return run
    }
    return undefined
  }

  #queueNew(): void {
    const { runs } = this.#context.store.tables
    const added = [...runs.keysIn('status', 'post_plan_running')]
      .filter((key) => !this.#queued.has(key))
      .map((key) => ({ key, createIndex: runs.createIndexOf(key) ?? 0 }))
      .toSorted(compareCreation)
    for (const { key } of added) {
      this.#queued.add(key)
      this.#queue.push(runs.get(key).organizationId, key, TURN_MS)
    }
  }

  async #judgeRun(run: RunRow): Promise<void> {
    const { store, clock } = this.#context
    const startMs = clock.nowMs()
    const plan = store.tables.run_plans.get(run.planId)
    const document = await readStoredBytes(this.#context, plan)
    if (document === undefined || plan.frozenSets === null)
      throw new Fault('plan-gone', 'the plan of the run is not stored any more')
    const sets = openSets(this.#context, plan.frozenSets)
    const origin = { tenant: organizationTenant(run.organizationId) }
    const subject = { plan: document, run: runSubject(this.#context, run), origin }
    const judged = await judgeSets(this.#context, sets, subject)
    // The run may have been canceled during the evaluation. If the server stops, the next one
    // repeats the evaluation.
    if (this.#stopped || store.tables.runs.find(run.id)?.status !== 'post_plan_running') return
    const durationMs = clock.nowMs() - startMs
    await store.commit({
      by: 'system',
      cause: GOVERNANCE_CAUSE,
      changes: () => judgedRows(this.#context, { run, plan, sets, judged, durationMs }),
    }).durable
  }

  /** Fails closed: a run whose policies cannot be evaluated does not continue. */
  #giveUp({ id }: RunRow): void {
    const { store } = this.#context
    const run = store.tables.runs.find(id)
    if (run?.status !== 'post_plan_running') return
    store.commit({
      by: 'system',
      cause: GOVERNANCE_CAUSE,
      changes: () => unaskedRows(this.#context, run),
    })
  }
}
