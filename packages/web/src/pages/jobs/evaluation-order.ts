import type { Evaluation } from '@reeve/contract'

type Made = Pick<Evaluation, 'ID' | 'CreateIndex' | 'PreviousEval'>

/** What goes on from another may be made in the same commit, and is the newer one. */
export function newestFirst(a: Made, b: Made): number {
  const byIndex = b.CreateIndex - a.CreateIndex
  return byIndex || Number(b.PreviousEval === a.ID) - Number(a.PreviousEval === b.ID)
}
