import type { JobPolicyOutcome } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { LIMITS } from '../../model/index.ts'
import { verdictOf } from '../../policy/index.ts'
import type { WorkloadContext } from '../context.ts'
import { jobSubject, type JudgedJob } from './job-subject.ts'
import { commentProblem, type OverrideWish } from './override-comment.ts'
import { plannedWarnings, shownOutcomes } from './verdict-text.ts'

/** Results of policies in a plan. */
export interface PlannedVerdicts {
  /** Null if no policy applies. */
  readonly outcomes: readonly JobPolicyOutcome[] | null
  readonly warnings: readonly string[]
}

/** Evaluates the policies of a registration without recording anything. */
export async function planPolicies(
  context: WorkloadContext,
  caller: Caller,
  { override, ...judged }: JudgedJob & { readonly override: OverrideWish },
): Promise<PlannedVerdicts> {
  const sets = context.guard.setsFor(judged.job.Namespace)
  if (sets.length === 0) return { outcomes: null, warnings: [] }
  const verdicts = await context.guard.judge(sets, (needs) =>
    jobSubject(context, caller, { ...judged, ...needs }),
  )
  const isOverriding = override.PolicyOverride === true
  const problem = commentProblem(context.guard, verdicts, override)
  return {
    outcomes: shownOutcomes(verdicts, isOverriding).slice(0, LIMITS.plannedOutcomesMax),
    warnings: [
      ...(problem === undefined ? [] : [`would be refused: ${problem}`]),
      ...plannedWarnings(verdictOf(verdicts, isOverriding)),
    ],
  }
}
