import { WORKLOAD_VARIABLE_PREFIX } from '@reeve/contract'
import type { RunPhaseRow } from '../../../model/index.ts'
import { namespacedKey, remove, type Change, type Tables } from '../../../state/index.ts'

/** The only task of the job of a phase. */
export const RUNNER_TASK = 'runner'

/** The item of the variable that holds the ticket. */
export const TICKET_ITEM = 'ticket'

type PhaseJobName = Pick<RunPhaseRow, 'id' | 'phase' | 'namespace'>

/**
 * The variable with the ticket of a phase. It belongs to the task of the runner, so only that task
 * reads it: the job itself may be read by everybody who may read jobs of the namespace.
 */
export function ticketPath({ id, phase }: PhaseJobName): string {
  return `${WORKLOAD_VARIABLE_PREFIX}/${id}/${phase}/${RUNNER_TASK}`
}

/** Deletes the ticket of a phase that has ended. */
export function ticketEnd(tables: Tables, phase: PhaseJobName): readonly Change[] {
  const key = namespacedKey(phase.namespace, ticketPath(phase))
  return tables.variables.has(key) ? [remove('variables', key)] : []
}
