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
 * Pending trials per organization: each may take ten seconds, and clients time out on longer
 * queues.
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
/** One evaluator per purpose. */
interface Askers extends Readonly<Record<AskingPurpose, object>> {
  readonly guard: GuardAsker
  readonly trial: TrialAsker
}

/**
 * Evaluates enforced policies and previews on separate threads: a preview may use the full time
 * limit of a policy, and no submission waits for it. With a single queue a submission would still
 * wait for the running preview, or terminating that would lose all compiled policies. A thread
 * takes about 45 MB; the one for previews is started on first use.
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

  /** Uploads are checked on the enforcement thread, which then has the policy compiled. */
  diagnose(policy: PolicyText, origin: AskingOrigin): Promise<readonly Diagnostic[]> {
    return this.#askers[origin.purpose ?? 'guard'].diagnose(policy, origin)
  }

  inspectPlan(plan: Uint8Array, origin: AskingOrigin): Promise<Result<InspectedPlan, string>> {
    return this.#askers[origin.purpose ?? 'guard'].inspectPlan(plan, origin)
  }

  /** Only previews have inputs. */
  inspectInput(json: Uint8Array, origin: AskingOrigin): Promise<Result<null, InputProblem>> {
    return this.#askers.trial.inspectInput(json, origin)
  }

  /** Runs on the preview thread, because no submission waits for it. */
  redactPlan(plan: Uint8Array, origin: AskingOrigin): Promise<Result<Uint8Array, string>> {
    return this.#askers.trial.redactPlan(plan, origin)
  }

  /** Runs on the preview thread, because no submission waits for it. */
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

/** All threads use the limits of a policy, so a preview has the same result as enforcement. */
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
