import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText, SortedList } from '@reeve/kit/sorted-list.ts'
import { refusalText, type WorkspaceRow } from '../../model/index.ts'
import { put, SCHEDULED_WORKSPACES, type Change } from '../../state/index.ts'
import { organizationAuthor } from '../caller.ts'
import { currentConfiguration } from '../configuration-versions/configuration-versions.ts'
import type { GovernanceHost } from '../context.ts'
import { queuedRun } from '../runs/queued-run.ts'
import { executesHere } from '../workspaces/find-workspace.ts'

/** Interval of rounds. Durations are at least hours, so a minute's delay is acceptable. */
const MARK_EVERY_MS = 60_000

/** Workspaces per commit; a round makes as many commits as it needs. */
const MARKED_MAX = 500

export interface AutoDestroyLog {
  warn(fields: object, message: string): void
}

export interface AutoDestroyLoopOptions {
  readonly context: GovernanceHost
  readonly log: AutoDestroyLog
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
  #unobserve: () => void = () => undefined

  constructor(options: AutoDestroyLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { clock } = this.#options.context
    this.#cancelTimer = clock.after(MARK_EVERY_MS, () => {
      this.start()
      this.mark()
    })
  }

  stop(): void {
    this.#cancelTimer()
    this.#unobserve()
    this.#unobserve = () => undefined
    this.#deadlines = undefined
  }

  /** Performs one round; also called by tests. */
  mark(): void {
    const { context, log, checkClock } = this.#options
    const { store, clock } = context
    checkClock()
    const nowMs = clock.nowMs()
    const waiting = new Set<string>()
    try {
      for (let due = this.#due(nowMs, waiting); due.length > 0; due = this.#due(nowMs, waiting)) {
        const queued = new Map<string, number>()
        const changes = due.flatMap((id) => this.#marked(id, { nowMs, waiting, queued }))
        if (changes.length > 0)
          store.commit({ by: 'system', cause: 'WorkspaceUpdated', changes: () => changes })
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
  #due(nowMs: number, waiting: ReadonlySet<string>): readonly string[] {
    const due: string[] = []
    for (const { atMs, id } of this.#ready().ascending()) {
      if (atMs > nowMs || due.length === MARKED_MAX) break
      if (!waiting.has(id)) due.push(id)
    }
    return due
  }

  #ready(): SortedList<Deadline> {
    if (this.#deadlines !== undefined) return this.#deadlines
    const { store } = this.#options.context
    const { workspaces } = store.tables
    this.#unobserve()
    this.#unobserve = store.observe('workspaces', {
      changed: (before, after) => this.#changed(before, after),
      reset: () => {
        this.#deadlines = undefined
      },
    })
    const deadlines = new SortedList<Deadline>(compareDeadlines)
    deadlines.assign(workspaces.rowsIn('scheduled', SCHEDULED_WORKSPACES).flatMap(deadlineOf))
    this.#deadlines = deadlines
    return deadlines
  }

  #changed(before: WorkspaceRow | undefined, after: WorkspaceRow | undefined): void {
    const deadlines = this.#deadlines
    if (deadlines === undefined) return
    for (const one of deadlineOf(before)) deadlines.delete(one)
    for (const one of deadlineOf(after)) deadlines.add(one)
  }

  /** Returns no changes if the run cannot be queued now; the next round retries. */
  #marked(id: string, { nowMs, waiting, queued }: MarkingRound): readonly Change[] {
    const { context, log } = this.#options
    const row = context.store.tables.workspaces.get(id)
    const alsoPending = queued.get(row.organizationId) ?? 0
    const run = destroyRun(context, row, alsoPending)
    if (!run.ok) {
      waiting.add(id)
      log.warn({ workspace: id, err: run.error }, 'destroy run could not be queued')
      return []
    }
    if (run.value.length > 0) queued.set(row.organizationId, alsoPending + 1)
    const marked = {
      ...row,
      autoDestroyAtMs: null,
      autoDestroyStatus: 'destroying',
      updatedMs: nowMs,
    } as const
    return [put('workspaces', marked), ...run.value]
  }
}

interface MarkingRound {
  readonly nowMs: number
  /** Workspaces whose run could not be queued in this round. */
  readonly waiting: Set<string>
  /** Runs queued in this commit, by organization. */
  readonly queued: Map<string, number>
}

/** Returns the rows of the destroy run; none if an external executor destroys the workspace. */
function destroyRun(
  context: GovernanceHost,
  workspace: WorkspaceRow,
  alsoPending: number,
): Result<readonly Change[], string> {
  const { tables } = context.store
  const organization = tables.organizations.get(workspace.organizationId)
  const configuration = currentConfiguration(tables, workspace.id)
  if (configuration === undefined || !executesHere({ workspace, organization })) return ok([])
  const duration = workspace.autoDestroyActivityDuration
  const dueAt = new Date(workspace.autoDestroyAtMs ?? 0).toISOString()
  const limit = duration === null ? '' : ` Inactivity limit ${duration}.`
  const queued = queuedRun(context, {
    workspace,
    configuration,
    author: organizationAuthor(context, organization.id),
    attributes: { 'is-destroy': true, message: `Auto-destroy: due since ${dueAt}.${limit}` },
    autoApply: true,
    trigger: 'auto-destroy',
    alsoPending,
  })
  return queued.ok ? ok(queued.value.changes) : err(refusalText(queued.error))
}

function deadlineOf(row: WorkspaceRow | undefined): readonly Deadline[] {
  if (row === undefined || row.autoDestroyAtMs === null) return []
  return [{ atMs: row.autoDestroyAtMs, id: row.id }]
}

function compareDeadlines(a: Deadline, b: Deadline): number {
  return a.atMs - b.atMs || compareText(a.id, b.id)
}
