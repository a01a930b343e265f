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

/** A run that nobody uploads a plan for may be this much late in ending. */
const EXPIRE_EVERY_MS = 60_000

/** Where too many questions wait for policies, a run waits a little longer. */
const RETRY_AFTER_MS = 2_000

const DONE = Promise.resolve()

/** Time that one turn of an organization is worth: one with slower policies has fewer turns. */
const TURN_MS = 50

/** Ended in one commit; the rest waits for the next one. */
const EXPIRED_MAX = 200

export interface RunLoopLog {
  warn(fields: object, message: string): void
}

export interface RunLoopOptions {
  readonly context: GovernanceHost
  readonly log: RunLoopLog
}

/**
 * Asks the policies about plans that were uploaded, one run after the other, and ends runs whose
 * plan never came. Organizations are served in turn: one that uploads many plans,
 * or plans that take long, delays its own runs. What it has to do stands in the runs themselves, so
 * a server that starts goes on where the last one stopped.
 */
export class RunLoop {
  readonly #context: GovernanceHost
  readonly #log: RunLoopLog
  /** Ids of runs that wait, and the same as a set. */
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

  /** Asks about everything that waits; also what the tests call. One round at a time. */
  judge(): Promise<void> {
    this.#running ??= this.#round().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** Ends the runs that have waited for their plan long enough. */
  expire(): void {
    const { store, clock } = this.#context
    const nowMs = clock.nowMs()
    const late = store.tables.runs
      .rowsIn('status', 'pending')
      // One that is executed here waits for its turn, however long that takes.
      // One from further ahead was created by a clock that was ahead: nobody knows its age.
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
      // The storage has failed: the next start ends them.
      if (!(thrown instanceof Fault)) throw thrown
      this.#log.warn({ err: errorMessage(thrown) }, 'runs without a plan could not be ended')
    }
  }

  /** A commit only wakes it; it takes its work from the table. */
  #follow(): void {
    if (this.#stopped) return
    this.#cancelWatch = this.#context.store.watches.watch([{ table: 'runs' }], () => this.#follow())
    // A round that is about to end may have looked already.
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

  /** Whether the next one may be tried. */
  async #settle(run: RunRow): Promise<boolean> {
    try {
      await this.#judgeRun(run).catch((thrown: unknown) => {
        if (this.#stopped || this.#context.store.fault !== undefined) throw thrown
        if (thrown instanceof Fault && thrown.kind === OVERLOADED) throw thrown
        this.#log.warn({ run: run.id, err: errorMessage(thrown) }, 'policies could not be asked')
        this.#giveUp(run)
      })
      return true
    } catch (thrown) {
      // The storage has failed, or the server stops: the next start goes on. Too much at once
      // passes: it is tried again.
      if (thrown instanceof Fault && thrown.kind === OVERLOADED) this.#judgeLater()
      this.#log.warn({ run: run.id, err: errorMessage(thrown) }, 'a run could not be settled')
      return false
    }
  }

  #judgeLater(): void {
    this.#cancelRetry()
    this.#cancelRetry = this.#context.clock.after(RETRY_AFTER_MS, () => void this.judge())
  }

  /** The run that has waited longest of the organization whose turn it is. */
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
    // To ask takes a while: somebody may have canceled it. What was asked while the server stops
    // is asked again by the next one.
    if (this.#stopped || store.tables.runs.find(run.id)?.status !== 'post_plan_running') return
    const durationMs = clock.nowMs() - startMs
    await store.commit({
      by: 'system',
      cause: GOVERNANCE_CAUSE,
      changes: () => judgedRows(this.#context, { run, plan, sets, judged, durationMs }),
    }).durable
  }

  /** Fails closed: a run whose policies cannot be asked does not go on. */
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
