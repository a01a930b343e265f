import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { compareText, SortedList } from '@reeve/kit/sorted-list.ts'
import type { WorkspaceRow } from '../model/index.ts'
import { put, SCHEDULED_WORKSPACES, type Change, type Store } from '../state/index.ts'
import type { ControlLog } from './control-log.ts'

/** Durations are hours at least; a minute late is not late. */
const MARK_EVERY_MS = 60_000

/** Marked in one commit; the rest waits for the next one. */
const MARKED_MAX = 500

interface AutoDestroyLoopOptions {
  readonly store: Store
  readonly clock: Clock
  readonly log: ControlLog
}

interface Deadline {
  readonly atMs: number
  readonly id: string
}

/**
 * Marks workspaces for destruction when their time has come: the status becomes `destroying`, the
 * time is spent, and the event stream tells it. Whoever keeps the infrastructure destroys it;
 * nothing is executed here.
 *
 * The deadlines are kept in order beside the table, so that a round costs what is due.
 */
export class AutoDestroyLoop {
  readonly #options: AutoDestroyLoopOptions
  /** Undefined until a round needs it, and after the store took writes back. */
  #deadlines: SortedList<Deadline> | undefined
  #cancelTimer: () => void = () => undefined

  constructor(options: AutoDestroyLoopOptions) {
    this.#options = options
    options.store.observe('workspaces', {
      changed: (before, after) => this.#changed(before, after),
      reset: () => {
        this.#deadlines = undefined
      },
    })
  }

  start(): void {
    this.#cancelTimer = this.#options.clock.after(MARK_EVERY_MS, () => {
      this.start()
      this.mark()
    })
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** One round; also what the tests call. */
  mark(): void {
    const { store, clock, log } = this.#options
    const nowMs = clock.nowMs()
    try {
      for (let due = this.#due(nowMs); due.length > 0; due = this.#due(nowMs))
        store.commit({
          by: 'system',
          cause: 'WorkspaceUpdated',
          changes: () => due.map((id) => this.#marked(id, nowMs)),
        })
    } catch (thrown) {
      // The storage has failed: the next start marks them.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'due workspaces could not be marked')
    }
  }

  /** The first of those whose time has come. A marked one has no time, so it is not due again. */
  #due(nowMs: number): readonly string[] {
    const due: string[] = []
    for (const { atMs, id } of this.#ready().ascending()) {
      if (atMs > nowMs || due.length === MARKED_MAX) break
      due.push(id)
    }
    return due
  }

  #ready(): SortedList<Deadline> {
    if (this.#deadlines !== undefined) return this.#deadlines
    const { workspaces } = this.#options.store.tables
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

  #marked(id: string, nowMs: number): Change {
    const row = this.#options.store.tables.workspaces.get(id)
    return put('workspaces', {
      ...row,
      autoDestroyAtMs: null,
      autoDestroyStatus: 'destroying',
      updatedMs: nowMs,
    })
  }
}

function deadlineOf(row: WorkspaceRow | undefined): readonly Deadline[] {
  if (row === undefined || row.autoDestroyAtMs === null) return []
  return [{ atMs: row.autoDestroyAtMs, id: row.id }]
}

function compareDeadlines(a: Deadline, b: Deadline): number {
  return a.atMs - b.atMs || compareText(a.id, b.id)
}
