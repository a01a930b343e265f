import type { JobPolicyOutcome } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { LIMITS } from '../../model/index.ts'
import { verdictOf } from '../../policy/index.ts'
import type { WorkloadContext } from '../context.ts'
import { jobSubject, type JudgedJob } from './job-subject.ts'
import { plannedWarnings, shownOutcomes } from './verdict-text.ts'

/** What policies would say of a registration. */
export interface PlannedVerdicts {
  /** Null when no policy applies. */
  readonly outcomes: readonly JobPolicyOutcome[] | null
  readonly warnings: readonly string[]
}

/** Spec W: Plan. Everything is told before the fact, and nothing is recorded. */
export async function planPolicies(
  context: WorkloadContext,
  caller: Caller,
  { isOverriding, ...judged }: JudgedJob & { readonly isOverriding: boolean },
): Promise<PlannedVerdicts> {
  const sets = context.guard.setsFor(judged.job.Namespace)
  if (sets.length === 0) return { outcomes: null, warnings: [] }
  const verdicts = await context.guard.judge(sets, (needs) =>
    jobSubject(context, caller, { ...judged, ...needs }),
  )
  return {
    outcomes: shownOutcomes(verdicts, isOverriding).slice(0, LIMITS.plannedOutcomesMax),
    warnings: plannedWarnings(verdictOf(verdicts, isOverriding)),
  }
}
