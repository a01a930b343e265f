import type { RunApplyRow, RunPhaseRow, RunRow } from '../../../model/index.ts'
import type { Tables } from '../../../state/index.ts'
import { isEnded } from '../run-states.ts'

/** The id of a phase, which is that of its job too. */
export function phaseId(runId: string, phase: RunPhaseRow['phase']): string {
  return `${runId}-${phase}`
}

function phaseOf(
  tables: Tables,
  runId: string,
  phase: RunPhaseRow['phase'],
): RunPhaseRow | undefined {
  return tables.run_phases.find(phaseId(runId, phase))
}

/** The phase of a run that waits for a node or executes; undefined when there is none. */
export function openPhaseOf(tables: Tables, runId: string): RunPhaseRow | undefined {
  return tables.run_phases
    .rowsIn('run', runId)
    .find(({ status }) => status === 'queued' || status === 'running')
}

/** The apply of an executed run. Before its phase begins it waits, or will never begin. */
export function applyOf(tables: Tables, run: RunRow): RunApplyRow | undefined {
  if (run.execution === undefined) return undefined
  const phase = phaseOf(tables, run.id, 'apply')
  const ended = isEnded(run.status) ? 'unreachable' : 'pending'
  return {
    id: run.execution.applyId,
    runId: run.id,
    status: phase?.status ?? ended,
    statusMs: phase?.statusMs ?? {},
  }
}
