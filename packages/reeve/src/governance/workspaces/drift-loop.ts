import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { inactivityMs, refusalMessage, type WorkspaceRow } from '../../model/index.ts'
import { DRIFT_CHECKED_KEY, put, type Change, type Tables } from '../../state/index.ts'
import { organizationAuthor } from '../caller.ts'
import { currentConfiguration } from '../configuration-versions/configuration-versions.ts'
import type { GovernanceOptions } from '../context.ts'
import { queueRun } from '../runs/queued-run.ts'
import { isTerminalStatus } from '../runs/run-states.ts'
import { currentState } from '../state-versions/state-versions.ts'
import { usesRemoteExecution } from './find-workspace.ts'

/** Interval of rounds. The shortest interval between two checks is an hour. */
const DRIFT_ROUND_INTERVAL_MS = 60_000

export interface DriftLoopOptions {
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
        if (changes.length > 0)
          store.commit({ by: 'system', cause: 'WorkspaceUpdated', changes: () => changes })
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
