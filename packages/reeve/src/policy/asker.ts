import type { Result } from '../kit/result.ts'
import type { PlanCounts } from '../model/index.ts'
import type { AskedPolicy, Diagnostic, Judgement, PolicyText } from './judgement.ts'
import type { PlainObject, Subject } from './subject.ts'

/** A plan as it is stored: read where policies are asked, since that may take a while. */
export interface StoredPlanSubject {
  readonly kind: 'stored-plan'
  readonly bytes: Uint8Array
  /** What policies may ask of the run (reference policy-languages §3.4). */
  readonly run: PlainObject
}

export type AskedSubject = Subject | StoredPlanSubject

/** What is kept of a plan beside its text. */
export interface PlanFacts {
  readonly counts: PlanCounts
  readonly hasChanges: boolean
}

/**
 * What hangs on the answer: a submission or a run waits for it, or nothing does. What is only tried
 * never holds up what guards.
 */
export type AskingPurpose = 'guard' | 'trial'

/** Asks policies where it costs requests nothing. A purpose that is not given is `guard`. */
export interface PolicyAsker {
  /**
   * One judgement for each policy, in order. Never fails because of a policy: one that takes too
   * long, or too much memory, is `errored` and says so. Where too many ask at once it throws a
   * fault of kind `overloaded`. About a stored plan nothing is said that the plan calls sensitive.
   */
  ask(
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
    purpose?: AskingPurpose,
  ): Promise<readonly Judgement[]>
  diagnose(policy: PolicyText, purpose?: AskingPurpose): Promise<readonly Diagnostic[]>
  /** Reads a large plan there; else why it is none. An asker without it leaves that to others. */
  inspectPlan?(bytes: Uint8Array): Promise<Result<PlanFacts, string>>
}
