import type { RunApplyRow, RunPhaseRow, RunRow } from '../../../model/index.ts'
import type { Tables } from '../../../state/index.ts'
import { isTerminalStatus } from '../run-states.ts'

/** Returns the ID of a phase, which is also the ID of its job. */
export function phaseId(runId: string, phase: RunPhaseRow['phase']): string {
  return `${runId}-${phase}`
}

function findPhaseRow(
  tables: Tables,
  runId: string,
  phase: RunPhaseRow['phase'],
): RunPhaseRow | undefined {
  return tables.run_phases.find(phaseId(runId, phase))
}

/** Returns the phase of a run that waits for a node or executes; undefined if there is none. */
export function findOpenPhase(tables: Tables, runId: string): RunPhaseRow | undefined {
  return tables.run_phases
    .rowsByIndex('run', runId)
    .find(({ status }) => status === 'queued' || status === 'running')
}

/**
 * Returns the apply of an executed run. Without a phase it is pending, or unreachable if the run
 * has ended.
 */
export function toRunApply(tables: Tables, run: RunRow): RunApplyRow | undefined {
  if (run.execution === undefined) return undefined
  const phase = findPhaseRow(tables, run.id, 'apply')
  const statusWithoutPhase = isTerminalStatus(run.status) ? 'unreachable' : 'pending'
  return {
    id: run.execution.applyId,
    runId: run.id,
    status: phase?.status ?? statusWithoutPhase,
    statusMs: phase?.statusMs ?? {},
  }
}
