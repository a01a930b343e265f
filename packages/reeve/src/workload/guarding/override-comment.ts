import { verdictOf } from '../../policy/index.ts'
import type { GuardVerdict, PolicyGuard } from './policy-guard.ts'

/** Policy override of a request, with its comment. */
export interface OverrideWish {
  readonly PolicyOverride?: boolean | null | undefined
  readonly PolicyOverrideComment?: string | null | undefined
}

/**
 * Returns the problem if an organization requires a comment for overriding its policies and the
 * request has none. Applies to jobs as to runs.
 */
export function commentProblem(
  guard: Pick<PolicyGuard, 'needsComment'>,
  verdicts: readonly GuardVerdict[],
  { PolicyOverride, PolicyOverrideComment }: OverrideWish,
): string | undefined {
  if (PolicyOverride !== true || (PolicyOverrideComment ?? '').trim() !== '') return undefined
  const demanding = verdicts.find(
    (one) => verdictOf([one], true).overridden.length > 0 && guard.needsComment(one.set),
  )
  if (demanding === undefined) return undefined
  const set = JSON.stringify(demanding.name)
  return `the override needs a comment (PolicyOverrideComment): the organization of policy set ${set} requires one`
}
