import type { JobPolicyOutcome } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { LIMITS } from '../../model/index.ts'
import { decideEnforcement } from '../../policy/index.ts'
import type { WorkloadContext } from '../context.ts'
import { buildPolicyInput, type JobChange } from './job-subject.ts'
import { missingOverrideComment, type PolicyOverrideRequest } from './override-comment.ts'
import { dryRunWarnings, publicOutcomes } from './verdict-text.ts'

/** Results of policies in a plan. */
export interface PolicyDryRun {
  /** Null if no policy applies. */
  readonly outcomes: readonly JobPolicyOutcome[] | null
  readonly warnings: readonly string[]
}

/** Evaluates the policies of a registration without recording anything. */
export async function dryRunPolicies(
  context: WorkloadContext,
  caller: Caller,
  { override, ...change }: JobChange & { readonly override: PolicyOverrideRequest },
): Promise<PolicyDryRun> {
  const sets = context.jobPolicies.policySetsFor(change.job.Namespace)
  if (sets.length === 0) return { outcomes: null, warnings: [] }
  const verdicts = await context.jobPolicies.evaluate(sets, (needs) =>
    buildPolicyInput(context, caller, { ...change, ...needs }),
  )
  const isOverriding = override.PolicyOverride === true
  const problem = missingOverrideComment(context.jobPolicies, verdicts, override)
  return {
    outcomes: publicOutcomes(verdicts, isOverriding).slice(0, LIMITS.plannedOutcomesMax),
    warnings: [
      ...(problem === undefined ? [] : [`would be refused: ${problem}`]),
      ...dryRunWarnings(decideEnforcement(verdicts, isOverriding)),
    ],
  }
}
