import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type RunPhaseRow,
  type RunRow,
} from '../../../model/index.ts'
import { isOpenPhase, put } from '../../../state/index.ts'
import { GOVERNANCE_CAUSE } from '../../commit.ts'
import type { GovernanceContext } from '../../context.ts'
import { transitionRun } from '../run-states.ts'
import { withStatus } from './moved.ts'
import { phaseDocument } from './phase-document.ts'

/** An active phase and its run, as visible to its runner. */
export interface VisiblePhase {
  readonly phase: RunPhaseRow
  readonly run: RunRow
}

/** A request of a runner. */
export interface PhaseCall {
  readonly phaseId: string
  /** Bearer token of the request; undefined if it has none. */
  readonly token: string | undefined
}

/**
 * Returns the phase if the request comes from its runner. All other callers, and the runner of an
 * ended phase, get the same response as for an unknown phase.
 */
export function findPhase(
  { store, sealer }: GovernanceContext,
  { phaseId, token }: PhaseCall,
): Result<VisiblePhase, GovernanceRefusal> {
  const phase = store.tables.run_phases.find(phaseId)
  if (phase === undefined || !isOpenPhase(phase) || token === undefined) return err(NOT_FOUND)
  if (phase.tokenHash === null || phase.tokenHash !== sealer.hash(token)) return err(NOT_FOUND)
  const run = store.tables.runs.find(phase.runId)
  return run === undefined ? err(NOT_FOUND) : ok({ phase, run })
}

/**
 * Returns an apply that ended without the report of its runner, if the request comes from that
 * runner: its node was unreachable and has returned. It may only attach the state that it has.
 */
export function findAbandonedApply(
  { store, sealer }: GovernanceContext,
  { phaseId, token }: PhaseCall,
): Result<VisiblePhase, GovernanceRefusal> {
  const phase = store.tables.run_phases.find(phaseId)
  if (phase === undefined || token === undefined || phase.phase !== 'apply') return err(NOT_FOUND)
  const run = store.tables.runs.find(phase.runId)
  if (phase.tokenHash !== sealer.hash(token) || run?.execution?.keepsLock !== true)
    return err(NOT_FOUND)
  return ok({ phase, run })
}

/**
 * Starts a phase: the runner presents its ticket and chooses the token for all later requests. A
 * ticket is bound to the first token, so the runner may repeat the request, but the ticket is
 * useless to others.
 */
export async function startPhase(
  context: GovernanceContext,
  { phaseId, ticket, token }: { readonly phaseId: string } & v2.PhaseStart,
): Promise<Result<v2.PhaseDocument, GovernanceRefusal>> {
  const { store, sealer, clock } = context
  const phase = store.tables.run_phases.find(phaseId)
  if (phase === undefined || !isOpenPhase(phase)) return err(NOT_FOUND)
  if (phase.ticketHash !== sealer.hash(ticket)) return err(NOT_FOUND)
  const tokenHash = sealer.hash(token)
  const run = store.tables.runs.find(phase.runId)
  if (run === undefined) return err(NOT_FOUND)
  if (phase.tokenHash !== null && phase.tokenHash !== tokenHash) return err(TICKET_ALREADY_USED)
  if (phase.tokenHash === null) {
    const nowMs = clock.nowMs()
    const isPlan = phase.phase === 'plan'
    const plan = store.tables.run_plans.get(run.planId)
    const started = { ...phase, tokenHash, ...withStatus(phase, 'running', nowMs) }
    await store.commit({
      by: 'system',
      cause: GOVERNANCE_CAUSE,
      changes: () => [
        put('run_phases', started),
        put('runs', transitionRun(run, [isPlan ? 'planning' : 'applying'], nowMs)),
        ...(isPlan ? [put('run_plans', { ...plan, ...withStatus(plan, 'running', nowMs) })] : []),
      ],
    }).durable
  }
  return ok(phaseDocument(context, { phase, run }))
}

const TICKET_ALREADY_USED: GovernanceRefusal = {
  code: 'conflict',
  detail: 'The ticket of the phase was used with another token',
}
