import type { AskedPolicy, Diagnostic, Judgement, PolicyText } from './judgement.ts'
import type { Subject } from './subject.ts'

/** Asks policies somewhere where it costs requests nothing. */
export interface PolicyAsker {
  /**
   * One judgement for each policy, in order. Never fails because of a policy: one that takes too
   * long, or too much memory, is `errored` and says so. Where too many ask at once it throws a
   * fault of kind `overloaded`.
   */
  ask(subject: Subject, policies: readonly AskedPolicy[]): Promise<readonly Judgement[]>
  diagnose(policy: PolicyText): Promise<readonly Diagnostic[]>
}
