import type { Evaluation } from '@reeve/contract'
import { nsFromMs } from '../kit/duration.ts'
import type { Plan } from '../scheduler/index.ts'
import { namespacedKey, put, type Change, type Stamp, type Tables } from '../state/index.ts'

/**
 * A plan as the rows of one commit. A job waits for room at most once: an older wait is given up.
 */
export function planRows(tables: Tables, plan: Plan, stamp: Stamp): Change[] {
  const allocations = [...plan.placements, ...plan.stops, ...plan.updates, ...plan.notes]
  const evaluations = [
    plan.evaluation,
    ...plan.followUps,
    ...(plan.blocked === undefined ? [] : [plan.blocked]),
    ...supersededWaits(tables, plan, stamp),
  ]
  return [
    ...allocations.map((row) => put('allocations', { ...row, AllocModifyIndex: stamp.index })),
    ...evaluations.map((row) => put('evaluations', row)),
  ]
}

function supersededWaits(tables: Tables, plan: Plan, stamp: Stamp): Evaluation[] {
  const { evaluation, blocked } = plan
  const current = new Set([evaluation.ID, blocked?.ID])
  const key = namespacedKey(evaluation.Namespace, evaluation.JobID)
  return [...tables.evaluations.keysIn('open', key)]
    .filter((id) => !current.has(id))
    .map((id) => tables.evaluations.get(id))
    .filter((other) => other.Status === 'blocked')
    .map((other) => ({
      ...other,
      Status: 'canceled' as const,
      StatusDescription: `superseded by evaluation "${evaluation.ID}"`,
      ModifyTime: nsFromMs(stamp.timeMs),
    }))
}
