import type { Evaluation } from '@reeve/contract'

type EvaluationPosition = Pick<Evaluation, 'ID' | 'CreateIndex' | 'PreviousEval'>

/** Sorts newest first. A follow-up created in the same commit counts as newer. */
export function newestFirst(a: EvaluationPosition, b: EvaluationPosition): number {
  const byIndex = b.CreateIndex - a.CreateIndex
  return byIndex || Number(b.PreviousEval === a.ID) - Number(a.PreviousEval === b.ID)
}
