import { WORKLOAD_VARIABLE_PREFIX } from '@reeve/contract'
import type { RunPhaseRow } from '../../../model/index.ts'
import { namespacedKey, remove, type Change, type Tables } from '../../../state/index.ts'

/** Name of the only task in the job of a phase. */
export const RUNNER_TASK = 'runner'

/** Item of the variable that contains the ticket. */
export const TICKET_ITEM = 'ticket'

type PhaseJobRef = Pick<RunPhaseRow, 'id' | 'phase' | 'namespace'>

/**
 * Returns the path of the variable with the ticket of a phase. It belongs to the runner's task, so
 * only that task can read it; the job itself is visible to everyone who may read jobs of the
 * namespace.
 */
export function ticketPath({ id, phase }: PhaseJobRef): string {
  return `${WORKLOAD_VARIABLE_PREFIX}/${id}/${phase}/${RUNNER_TASK}`
}

/** Deletes the ticket of a phase that has ended. */
export function deleteTicketChanges(tables: Tables, phase: PhaseJobRef): readonly Change[] {
  const key = namespacedKey(phase.namespace, ticketPath(phase))
  return tables.variables.has(key) ? [remove('variables', key)] : []
}
