import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText, SortedList } from '@reeve/kit/sorted-list.ts'
import type { Logger } from '@reeve/kit/log.ts'
import { inactivityMs, refusalMessage, type WorkspaceRow } from '../../model/index.ts'
import {
  put,
  SCHEDULED_KEY,
  type Change,
  DRIFT_CHECKED_KEY,
  type Tables,
} from '../../state/index.ts'
import { organizationAuthor } from '../caller.ts'
import { commitSystemWrite } from '../commit.ts'
import { currentConfiguration } from '../configuration-versions/configuration-versions.ts'
import type { GovernanceOptions } from '../context.ts'
import { queueRun } from '../runs/create-run.ts'
import { isTerminalStatus } from '../runs/run-status.ts'
import { currentState } from '../state-versions/state-versions.ts'
import { usesRemoteExecution } from './find-workspace.ts'

/** Interval of rounds. Durations are at least hours, so a minute's delay is acceptable. */
const AUTO_DESTROY_INTERVAL_MS = 60_000

/** Workspaces per commit; a round makes as many commits as it needs. */
const WORKSPACES_PER_COMMIT_MAX = 500

interface AutoDestroyLoopOptions {
  readonly context: GovernanceOptions
  readonly log: Pick<Logger, 'warn'>
  /** Corrects the deadlines if the clock jumped: without it, a jump would destroy workspaces. */
  readonly checkClock: () => void
}

interface Deadline {
  readonly atMs: number
  readonly id: string
}

/**
 * Destroys workspaces whose auto-destroy deadline has passed: the status becomes `destroying`, the
 * deadline is cleared, and an auto-applied destroy run is queued. If runs execute elsewhere or
 * nothing was uploaded, no run is queued; the event stream reports the change, and an external
 * executor destroys the infrastructure.
 *
 * The deadlines are kept in a sorted index, so the cost of a round depends only on the number of
 * due workspaces.
 */
export class AutoDestroyLoop {
  readonly #options: AutoDestroyLoopOptions
  /** Built on first use, and again after the store rolled back writes. */
  #deadlines: SortedList<Deadline> | undefined
  #cancelTimer: () => void = () => undefined
  #stopObserving: () => void = () => undefined

  constructor(options: AutoDestroyLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { clock } = this.#options.context
    this.#cancelTimer = clock.after(AUTO_DESTROY_INTERVAL_MS, () => {
      this.start()
      this.runOnce()
    })
  }

  stop(): void {
    this.#cancelTimer()
    this.#stopObserving()
    this.#stopObserving = () => undefined
    this.#deadlines = undefined
  }

  /** Performs one round; also called by tests. */
  runOnce(): void {
    const { context, log, checkClock } = this.#options
    const { store, clock } = context
    checkClock()
    const nowMs = clock.nowMs()
    const failedIds = new Set<string>()
    try {
      for (
        let due = this.#due(nowMs, failedIds);
        due.length > 0;
        due = this.#due(nowMs, failedIds)
      ) {
        const queued = new Map<string, number>()
        const changes = due.flatMap((id) =>
          this.#startDestroyChanges(id, { nowMs, failedIds, queued }),
        )
        if (changes.length > 0) commitSystemWrite({ store }, { changes, emitsEvents: true })
      }
    } catch (thrown) {
      // The storage failed; the next round retries.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'auto-destroy round failed')
    }
  }

  /**
   * Returns the first due workspaces. A marked one has no deadline, so it is not returned again.
   */
  #due(nowMs: number, failedIds: ReadonlySet<string>): readonly string[] {
    const due: string[] = []
    for (const { atMs, id } of this.#sortedDeadlines().ascending()) {
      if (atMs > nowMs || due.length === WORKSPACES_PER_COMMIT_MAX) break
      if (!failedIds.has(id)) due.push(id)
    }
    return due
  }

  #sortedDeadlines(): SortedList<Deadline> {
    if (this.#deadlines !== undefined) return this.#deadlines
    const { store } = this.#options.context
    const { workspaces } = store.tables
    this.#stopObserving()
    this.#stopObserving = store.observe('workspaces', {
      changed: (before, after) => this.#onWorkspaceChanged(before, after),
      reset: () => {
        this.#deadlines = undefined
      },
    })
    const deadlines = new SortedList<Deadline>(compareDeadlines)
    deadlines.assign(workspaces.rowsByIndex('scheduled', SCHEDULED_KEY).flatMap(toDeadlines))
    this.#deadlines = deadlines
    return deadlines
  }

  #onWorkspaceChanged(before: WorkspaceRow | undefined, after: WorkspaceRow | undefined): void {
    const deadlines = this.#deadlines
    if (deadlines === undefined) return
    for (const one of toDeadlines(before)) deadlines.delete(one)
    for (const one of toDeadlines(after)) deadlines.add(one)
  }

  /** Returns no changes if the run cannot be queued now; the next round retries. */
  #startDestroyChanges(id: string, { nowMs, failedIds, queued }: DestroyRound): readonly Change[] {
    const { context, log } = this.#options
    const row = context.store.tables.workspaces.get(id)
    const queuedInCommit = queued.get(row.organizationId) ?? 0
    const run = queueDestroyRun(context, row, queuedInCommit)
    if (!run.ok) {
      failedIds.add(id)
      log.warn({ workspace: id, err: run.error }, 'destroy run could not be queued')
      return []
    }
    if (run.value.length > 0) queued.set(row.organizationId, queuedInCommit + 1)
    const destroying = {
      ...row,
      autoDestroyAtMs: null,
      autoDestroyStatus: 'destroying',
      updatedMs: nowMs,
    } as const
    return [put('workspaces', destroying), ...run.value]
  }
}

interface DestroyRound {
  readonly nowMs: number
  /** Workspaces whose run could not be queued in this round. */
  readonly failedIds: Set<string>
  /** Runs queued in this commit, by organization. */
  readonly queued: Map<string, number>
}

/** Returns the rows of the destroy run; none if an external executor destroys the workspace. */
function queueDestroyRun(
  context: GovernanceOptions,
  workspace: WorkspaceRow,
  queuedInCommit: number,
): Result<readonly Change[], string> {
  const { tables } = context.store
  const organization = tables.organizations.get(workspace.organizationId)
  const configuration = currentConfiguration(tables, workspace.id)
  if (configuration === undefined || !usesRemoteExecution({ workspace, organization }))
    return ok([])
  const duration = workspace.autoDestroyActivityDuration
  const dueAt = new Date(workspace.autoDestroyAtMs ?? 0).toISOString()
  const limit = duration === null ? '' : ` Inactivity limit ${duration}.`
  const queued = queueRun(context, {
    workspace,
    configuration,
    author: organizationAuthor(context, organization.id),
    attributes: { 'is-destroy': true, message: `Auto-destroy: due since ${dueAt}.${limit}` },
    autoApply: true,
    trigger: 'auto-destroy',
    queuedInCommit,
  })
  return queued.ok ? ok(queued.value.changes) : err(refusalMessage(queued.error))
}

function toDeadlines(row: WorkspaceRow | undefined): readonly Deadline[] {
  if (row === undefined || row.autoDestroyAtMs === null) return []
  return [{ atMs: row.autoDestroyAtMs, id: row.id }]
}

function compareDeadlines(a: Deadline, b: Deadline): number {
  return a.atMs - b.atMs || compareText(a.id, b.id)
}

/** Interval of rounds. The shortest interval between two checks is an hour. */
const DRIFT_ROUND_INTERVAL_MS = 60_000

interface DriftLoopOptions {
  readonly context: GovernanceOptions
  readonly log: { warn(fields: object, message: string): void }
}

/**
 * Queues a refresh-only run without apply in each workspace whose drift check interval has passed.
 * Workspaces without state are skipped, and workspaces whose latest check has not ended.
 */
export class DriftLoop {
  readonly #options: DriftLoopOptions
  #cancelTimer: () => void = () => undefined

  constructor(options: DriftLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.context.clock.after(DRIFT_ROUND_INTERVAL_MS, () => {
      this.start()
      this.runOnce()
    })
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** Performs one round; also called by tests. */
  runOnce(): void {
    const { context, log } = this.#options
    const { store, clock } = context
    const nowMs = clock.nowMs()
    const due = store.tables.workspaces
      .rowsByIndex('driftChecked', DRIFT_CHECKED_KEY)
      .filter((row) => isDue(row, nowMs))
    try {
      // One commit per workspace, so that the limits of the queue count the runs queued before.
      for (const row of due) {
        const changes = this.#queueCheckChanges(row, nowMs)
        if (changes.length > 0) commitSystemWrite({ store }, { changes, emitsEvents: true })
      }
    } catch (thrown) {
      // The storage failed; the next round retries.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'queueing of drift checks failed')
    }
  }

  #queueCheckChanges(workspace: WorkspaceRow, nowMs: number): readonly Change[] {
    const { context, log } = this.#options
    const { tables } = context.store
    const organization = tables.organizations.get(workspace.organizationId)
    const configuration = currentConfiguration(tables, workspace.id)
    if (configuration === undefined || !usesRemoteExecution({ workspace, organization })) return []
    if (currentState(tables, workspace.id) === undefined) return []
    if (hasUnfinishedCheck(tables, workspace.id)) return []
    const queued = queueRun(context, {
      workspace,
      configuration,
      author: organizationAuthor(context, organization.id),
      attributes: { 'plan-only': true, 'refresh-only': true, message: 'Drift check' },
      autoApply: false,
      trigger: 'drift-check',
    })
    if (queued.ok)
      return [put('workspaces', { ...workspace, driftCheckedMs: nowMs }), ...queued.value.changes]
    log.warn(
      { workspace: workspace.id, err: refusalMessage(queued.error) },
      'queueing of a drift check failed',
    )
    return []
  }
}

function isDue({ driftCheckInterval, driftCheckedMs = 0 }: WorkspaceRow, nowMs: number): boolean {
  if (driftCheckInterval === undefined || driftCheckInterval === null) return false
  // A time far in the future comes from a clock that was ahead.
  return Math.abs(nowMs - driftCheckedMs) >= inactivityMs(driftCheckInterval)
}

function hasUnfinishedCheck(tables: Tables, workspaceId: string): boolean {
  return tables.runs
    .rowsByIndex('workspace', workspaceId)
    .some(
      ({ execution, status }) => execution?.trigger === 'drift-check' && !isTerminalStatus(status),
    )
}

/** Returns the result of the latest drift check that has ended; null if there is none. */
export function latestDrift(
  tables: Tables,
  workspaceId: string,
): { readonly runId: string; readonly hasDrifted: boolean } | null {
  const latest = tables.runs
    .rowsByIndex('workspace', workspaceId)
    .filter(({ execution, status }) => {
      return execution?.trigger === 'drift-check' && status === 'planned_and_finished'
    })
    .toSorted((a, b) => b.createdMs - a.createdMs)[0]
  return latest === undefined ? null : { runId: latest.id, hasDrifted: latest.hasChanges }
}
