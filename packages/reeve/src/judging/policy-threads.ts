import type { Clock } from '@reeve/kit/clock.ts'
import type { Result } from '@reeve/kit/result.ts'
import type {
  ArchiveTarget,
  ArchiveProblem,
  PolicyInvocation,
  EngineInput,
  EvaluationOrigin,
  EvaluationPurpose,
  Diagnostic,
  InputProblem,
  InspectedPlan,
  PolicyResult,
  PolicyEngine,
  PolicyDefinition,
  SetArchive,
} from '../policy/index.ts'
import { createEnforcementWorkers } from './guard-threads.ts'
import { WORKER_LIMITS, WorkerEngine } from './policy-thread.ts'

/**
 * Pending previews per organization. Each may take ten seconds, and clients would time out in a
 * longer queue.
 */
const PENDING_PREVIEWS_PER_TENANT_MAX = 32

interface Stoppable {
  stop(): Promise<void>
}
type EnforcementEngine = Required<Pick<PolicyEngine, 'evaluate' | 'diagnose' | 'inspectPlan'>> &
  Stoppable
type PreviewEngine = Required<
  Pick<
    PolicyEngine,
    'evaluate' | 'diagnose' | 'inspectPlan' | 'inspectInput' | 'redactPlan' | 'readSetArchive'
  >
> &
  Stoppable
/** One evaluator per purpose. */
interface PolicyEngines extends Readonly<Record<EvaluationPurpose, object>> {
  readonly guard: EnforcementEngine
  readonly trial: PreviewEngine
}

/**
 * Evaluates enforced policies and previews on separate threads: a preview may use the full time
 * limit of a policy, and no submission waits for it. With a single queue a submission would still
 * wait for the running preview, or terminating that would lose all compiled policies. A thread
 * takes about 45 MB; the one for previews is started on first use.
 */
export class PolicyWorkers implements PolicyEngine {
  readonly #engines: PolicyEngines

  constructor(askers: PolicyEngines) {
    this.#engines = askers
  }

  evaluate(
    input: EngineInput,
    policies: readonly PolicyInvocation[],
    origin: EvaluationOrigin,
  ): Promise<readonly PolicyResult[]> {
    return this.#engines[origin.purpose ?? 'guard'].evaluate(input, policies, origin)
  }

  /** Uploads are checked on the enforcement thread, which then has the policy compiled. */
  diagnose(policy: PolicyDefinition, origin: EvaluationOrigin): Promise<readonly Diagnostic[]> {
    return this.#engines[origin.purpose ?? 'guard'].diagnose(policy, origin)
  }

  inspectPlan(plan: Uint8Array, origin: EvaluationOrigin): Promise<Result<InspectedPlan, string>> {
    return this.#engines[origin.purpose ?? 'guard'].inspectPlan(plan, origin)
  }

  /** Only previews have raw inputs. */
  inspectInput(json: Uint8Array, origin: EvaluationOrigin): Promise<Result<null, InputProblem>> {
    return this.#engines.trial.inspectInput(json, origin)
  }

  /** Runs on the preview thread, because no submission waits for it. */
  redactPlan(plan: Uint8Array, origin: EvaluationOrigin): Promise<Result<Uint8Array, string>> {
    return this.#engines.trial.redactPlan(plan, origin)
  }

  /** Runs on the preview thread, because no submission waits for it. */
  readSetArchive(
    archive: Uint8Array,
    set: ArchiveTarget,
    origin: EvaluationOrigin,
  ): Promise<Result<SetArchive, ArchiveProblem>> {
    return this.#engines.trial.readSetArchive(archive, set, origin)
  }

  async stop(): Promise<void> {
    await Promise.all([this.#engines.guard.stop(), this.#engines.trial.stop()])
  }
}

/** All threads use the limits of a policy, so a preview has the same result as enforcement. */
export function createPolicyWorkers(options: {
  readonly clock: Clock
  readonly version: string
}): PolicyWorkers {
  const limits = { ...WORKER_LIMITS, waitingPerTenantMax: PENDING_PREVIEWS_PER_TENANT_MAX }
  return new PolicyWorkers({
    guard: createEnforcementWorkers(options),
    trial: new WorkerEngine({ ...options, limits }),
  })
}
