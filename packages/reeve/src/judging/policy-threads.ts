import type { Clock } from '../kit/clock.ts'
import type { Result } from '../kit/result.ts'
import type {
  AskedPolicy,
  AskedSubject,
  AskingPurpose,
  Diagnostic,
  Judgement,
  PlanFacts,
  PolicyAsker,
  PolicyText,
} from '../policy/index.ts'
import { openGuardThreads } from './guard-threads.ts'
import { JUDGING_LIMITS, PolicyThread } from './policy-thread.ts'

/**
 * Trials that wait: each may take ten seconds, so with more of them the last would wait longer than
 * anybody stays. Whoever comes then is told to come back.
 */
const TRIALS_WAITING_MAX = 32

type StoppableAsker = Required<PolicyAsker> & { stop(): Promise<void> }

/**
 * Asks what guards on other threads than what is only tried: a trial may take all the time that a
 * policy has, and no submission waits for it. One queue with the trials at its end would still let
 * a submission wait for the trial that runs, or cost the thread with all that it has compiled. A
 * thread takes about 45 MB; the one of the trials starts with the first trial.
 */
export class PolicyThreads implements PolicyAsker {
  readonly #askers: Readonly<Record<AskingPurpose, StoppableAsker>>

  constructor(askers: Readonly<Record<AskingPurpose, StoppableAsker>>) {
    this.#askers = askers
  }

  ask(
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
    purpose: AskingPurpose = 'guard',
  ): Promise<readonly Judgement[]> {
    return this.#askers[purpose].ask(subject, policies)
  }

  /** Of an upload, too, it is asked where the policy will guard: it is compiled there by then. */
  diagnose(policy: PolicyText, purpose: AskingPurpose = 'guard'): Promise<readonly Diagnostic[]> {
    return this.#askers[purpose].diagnose(policy)
  }

  inspectPlan(plan: Uint8Array): Promise<Result<PlanFacts, string>> {
    return this.#askers.guard.inspectPlan(plan)
  }

  async stop(): Promise<void> {
    await Promise.all([this.#askers.guard.stop(), this.#askers.trial.stop()])
  }
}

/** All with the limits of a policy: a trial says what the guard would say. */
export function openPolicyThreads(options: {
  readonly clock: Clock
  readonly version: string
}): PolicyThreads {
  const limits = { ...JUDGING_LIMITS, waitingMax: TRIALS_WAITING_MAX }
  return new PolicyThreads({
    guard: openGuardThreads(options),
    trial: new PolicyThread({ ...options, limits }),
  })
}
