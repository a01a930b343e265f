import type { RunPhaseRow } from '../../../model/index.ts'
import { isOpenPhase, type Change, type Tables } from '../../../state/index.ts'
import type { GovernanceContext } from '../../context.ts'
import { failPhaseChanges } from './phase-moves.ts'
import { appendLog, type AppendedLog } from './run-logs.ts'

export interface PhaseLoss {
  /** Reason as the end of a sentence that starts with the phase. */
  readonly reason: string
  readonly nowMs: number
}

/** Changes of a phase that ended without a report, with the end of its log. */
export type LostPhaseChanges = Omit<AppendedLog, 'phase'>

/**
 * Returns the changes for a phase that ended without a report of its runner. An apply may have made
 * changes that the state does not contain: its workspace stays locked, and nothing is retried. The
 * log ends with the reason, because clients show the log and not the run.
 */
export function recordLostPhase(
  { store: { tables }, sealer }: Pick<GovernanceContext, 'store' | 'sealer'>,
  phase: RunPhaseRow,
  { reason, nowMs }: PhaseLoss,
): LostPhaseChanges {
  if (!tables.runs.has(phase.runId) || !isOpenPhase(phase)) return { changes: [], blobs: [] }
  const message = lossMessage(phase, reason)
  // The job is stopped: a node that returns must not continue.
  const killed: RunPhaseRow = { ...phase, cancellation: 'kill' }
  const logged = appendLog({ sealer }, killed, {
    offset: phase.logBytes,
    bytes: Buffer.from(logTail(phase, message), 'utf8'),
  })
  // A log that is full gets no final message.
  const {
    phase: loggedPhase,
    changes,
    blobs,
  } = logged.ok ? logged.value : { phase: killed, changes: [], blobs: [] }
  return {
    changes: [...changes, ...failLostPhaseChanges(tables, loggedPhase, { message, nowMs })],
    blobs,
  }
}

function lossMessage({ phase, tokenHash }: RunPhaseRow, reason: string): string {
  if (tokenHash === null) return `The ${phase} could not be started: ${reason}`
  const warning = phase === 'apply' ? '; resources may exist that the state lacks' : ''
  return `The ${phase} is lost: ${reason}${warning}`
}

/** Clients hide the first three lines of the log of an apply. */
const HIDDEN_LINES = '\n\n\n'

function logTail({ phase, logBytes }: RunPhaseRow, message: string): string {
  if (logBytes > 0) return `\nError: ${message}\n`
  return `${phase === 'apply' ? HIDDEN_LINES : ''}Error: ${message}\n`
}

function failLostPhaseChanges(
  tables: Tables,
  phase: RunPhaseRow,
  { message, nowMs }: { readonly message: string; readonly nowMs: number },
): readonly Change[] {
  const run = tables.runs.get(phase.runId)
  const keepsLock = phase.phase === 'apply' && phase.tokenHash !== null
  return failPhaseChanges(tables, { phase, run }, { outcome: 'errored', message, keepsLock, nowMs })
}
