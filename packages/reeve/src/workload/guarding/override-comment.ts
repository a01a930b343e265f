import { decideEnforcement } from '../../policy/index.ts'
import type { PolicySetVerdict, JobPolicyEvaluator } from './policy-guard.ts'

/** Policy override of a request, with its comment. */
export interface PolicyOverrideRequest {
  readonly PolicyOverride?: boolean | null | undefined
  readonly PolicyOverrideComment?: string | null | undefined
}

/**
 * Returns the problem if an organization requires a comment for overriding its policies and the
 * request has none. Applies to jobs as to runs.
 */
export function missingOverrideComment(
  evaluator: Pick<JobPolicyEvaluator, 'requiresComment'>,
  verdicts: readonly PolicySetVerdict[],
  { PolicyOverride, PolicyOverrideComment }: PolicyOverrideRequest,
): string | undefined {
  if (PolicyOverride !== true || (PolicyOverrideComment ?? '').trim() !== '') return undefined
  const setRequiringComment = verdicts.find(
    (one) =>
      decideEnforcement([one], true).overridden.length > 0 && evaluator.requiresComment(one.set),
  )
  if (setRequiringComment === undefined) return undefined
  const set = JSON.stringify(setRequiringComment.name)
  return `the override needs a comment (PolicyOverrideComment): the organization of policy set ${set} requires one`
}
