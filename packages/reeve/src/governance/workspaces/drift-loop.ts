import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { inactivityMs, refusalText, type WorkspaceRow } from '../../model/index.ts'
import { DRIFT_CHECKED_WORKSPACES, put, type Change, type Tables } from '../../state/index.ts'
import { organizationAuthor } from '../caller.ts'
import { currentConfiguration } from '../configuration-versions/configuration-versions.ts'
import type { GovernanceHost } from '../context.ts'
import { queuedRun } from '../runs/queued-run.ts'
import { isEnded } from '../runs/run-states.ts'
import { currentState } from '../state-versions/state-versions.ts'
import { executesHere } from './find-workspace.ts'

/** Interval of rounds. The shortest time between two checks is an hour. */
const ROUND_EVERY_MS = 60_000

export interface DriftLoopOptions {
  readonly context: GovernanceHost
  readonly log: { warn(fields: object, message: string): void }
}

/**
 * Queues a plan-only run that refreshes, in each workspace whose time between two drift checks has
 * passed. A workspace without state has nothing that could drift, and one whose latest check has
 * not ended gets no other.
 */
export class DriftLoop {
  readonly #options: DriftLoopOptions
  #cancelTimer: () => void = () => undefined

  constructor(options: DriftLoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#cancelTimer = this.#options.context.clock.after(ROUND_EVERY_MS, () => {
      this.start()
      this.check()
    })
  }

  stop(): void {
    this.#cancelTimer()
  }

  /** Performs one round; also called by tests. */
  check(): void {
    const { context, log } = this.#options
    const { store, clock } = context
    const nowMs = clock.nowMs()
    const due = store.tables.workspaces
      .rowsIn('driftChecked', DRIFT_CHECKED_WORKSPACES)
      .filter((row) => isDue(row, nowMs))
    try {
      // One commit each: the limits of queues count the runs before.
      for (const row of due) {
        const changes = this.#checked(row, nowMs)
        if (changes.length > 0)
          store.commit({ by: 'system', cause: 'WorkspaceUpdated', changes: () => changes })
      }
    } catch (thrown) {
      // The storage failed; the next round retries.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'drift checks could not be queued')
    }
  }

  #checked(workspace: WorkspaceRow, nowMs: number): readonly Change[] {
    const { context, log } = this.#options
    const { tables } = context.store
    const organization = tables.organizations.get(workspace.organizationId)
    const configuration = currentConfiguration(tables, workspace.id)
    if (configuration === undefined || !executesHere({ workspace, organization })) return []
    if (currentState(tables, workspace.id) === undefined) return []
    if (hasOpenCheck(tables, workspace.id)) return []
    const queued = queuedRun(context, {
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
      { workspace: workspace.id, err: refusalText(queued.error) },
      'a drift check could not be queued',
    )
    return []
  }
}

function isDue({ driftCheckInterval, driftCheckedMs = 0 }: WorkspaceRow, nowMs: number): boolean {
  if (driftCheckInterval === undefined || driftCheckInterval === null) return false
  // A time far in the future comes from a clock that was ahead.
  return Math.abs(nowMs - driftCheckedMs) >= inactivityMs(driftCheckInterval)
}

function hasOpenCheck(tables: Tables, workspaceId: string): boolean {
  return tables.runs
    .rowsIn('workspace', workspaceId)
    .some(({ execution, status }) => execution?.trigger === 'drift-check' && !isEnded(status))
}

/** Result of the latest drift check that has ended; null if there is none. */
export function driftOf(
  tables: Tables,
  workspaceId: string,
): { readonly runId: string; readonly hasDrifted: boolean } | null {
  const latest = tables.runs
    .rowsIn('workspace', workspaceId)
    .filter(({ execution, status }) => {
      return execution?.trigger === 'drift-check' && status === 'planned_and_finished'
    })
    .toSorted((a, b) => b.createdMs - a.createdMs)[0]
  return latest === undefined ? null : { runId: latest.id, hasDrifted: latest.hasChanges }
}
