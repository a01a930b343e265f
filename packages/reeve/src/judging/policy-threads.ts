import type { Clock } from '@reeve/kit/clock.ts'
import type { Result } from '@reeve/kit/result.ts'
import type {
  ArchivedSet,
  ArchiveProblem,
  AskedPolicy,
  AskedSubject,
  AskingOrigin,
  AskingPurpose,
  Diagnostic,
  InputProblem,
  InspectedPlan,
  Judgement,
  PolicyAsker,
  PolicyText,
  SetArchive,
} from '../policy/index.ts'
import { openGuardThreads } from './guard-threads.ts'
import { JUDGING_LIMITS, PolicyThread } from './policy-thread.ts'

/**
 * Trials of one organization that wait: each may take ten seconds, so with more of them the last
 * would wait longer than anybody stays.
 */
const TRIALS_WAITING_PER_TENANT_MAX = 32

interface Stoppable {
  stop(): Promise<void>
}
type GuardAsker = Required<Pick<PolicyAsker, 'ask' | 'diagnose' | 'inspectPlan'>> & Stoppable
type TrialAsker = Required<
  Pick<
    PolicyAsker,
    'ask' | 'diagnose' | 'inspectPlan' | 'inspectInput' | 'redactPlan' | 'readSetArchive'
  >
> &
  Stoppable
/** One for each purpose. */
interface Askers extends Readonly<Record<AskingPurpose, object>> {
  readonly guard: GuardAsker
  readonly trial: TrialAsker
}

/**
 * Asks what guards on other threads than what is only tried: a trial may take all the time that a
 * policy has, and no submission waits for it. One queue with the trials at its end would still let
 * a submission wait for the trial that runs, or cost the thread with all that it has compiled. A
 * thread takes about 45 MB; the one of the trials starts with the first trial.
 */
export class PolicyThreads implements PolicyAsker {
  readonly #askers: Askers

  constructor(askers: Askers) {
    this.#askers = askers
  }

  ask(
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
    origin: AskingOrigin,
  ): Promise<readonly Judgement[]> {
    return this.#askers[origin.purpose ?? 'guard'].ask(subject, policies, origin)
  }

  /** Of an upload, too, it is asked where the policy will guard: it is compiled there by then. */
  diagnose(policy: PolicyText, origin: AskingOrigin): Promise<readonly Diagnostic[]> {
    return this.#askers[origin.purpose ?? 'guard'].diagnose(policy, origin)
  }

  inspectPlan(plan: Uint8Array, origin: AskingOrigin): Promise<Result<InspectedPlan, string>> {
    return this.#askers[origin.purpose ?? 'guard'].inspectPlan(plan, origin)
  }

  /** Only trials have inputs. */
  inspectInput(json: Uint8Array, origin: AskingOrigin): Promise<Result<null, InputProblem>> {
    return this.#askers.trial.inspectInput(json, origin)
  }

  /** No submission waits for it, so it never takes the time of what guards. */
  redactPlan(plan: Uint8Array, origin: AskingOrigin): Promise<Result<Uint8Array, string>> {
    return this.#askers.trial.redactPlan(plan, origin)
  }

  /** The same holds for an archive. */
  readSetArchive(
    archive: Uint8Array,
    set: ArchivedSet,
    origin: AskingOrigin,
  ): Promise<Result<SetArchive, ArchiveProblem>> {
    return this.#askers.trial.readSetArchive(archive, set, origin)
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
  const limits = { ...JUDGING_LIMITS, waitingPerTenantMax: TRIALS_WAITING_PER_TENANT_MAX }
  return new PolicyThreads({
    guard: openGuardThreads(options),
    trial: new PolicyThread({ ...options, limits }),
  })
}
