import type { Clock } from '@reeve/kit/clock.ts'
import type { Result } from '@reeve/kit/result.ts'
import type {
  PolicyInvocation,
  EngineInput,
  EvaluationOrigin,
  Diagnostic,
  InspectedPlan,
  PolicyResult,
  PolicyEngine,
  PolicyDefinition,
} from '../policy/index.ts'
import { LatencyTracker } from './paces.ts'
import { policyCodeHash, WORKER_LIMITS, WorkerEngine } from './policy-thread.ts'
import { KeyedQueue } from './turns.ts'

/** Evaluations over this limit are retried on the slow thread. */
const FAST_TIMEOUT_MS = 1_000
/** Evaluations of the same policies that may be pending. */
const PENDING_PER_KEY_MAX = 256
/** Maximum wait for slow policies; a request that would wait longer fails immediately. */
const SLOW_WAIT_MS_MAX = 60_000

/** Interface of the threads that `EnforcementWorkers` uses. */
interface EnforcementThreads {
  readonly fast: Pick<WorkerEngine, 'evaluateBatch' | 'tryDiagnose' | 'stop'>
  readonly slow: Pick<
    WorkerEngine,
    'evaluate' | 'evaluateTimed' | 'diagnose' | 'inspectPlan' | 'stop'
  >
}

/**
 * Evaluates enforced policies on two threads, so that slow policies delay only the submissions that
 * they apply to. The quick thread gives up after a second. The slow thread takes over those
 * evaluations, and those of policies that were slow before or need a stored plan to be parsed. It
 * is started on first use.
 */
export class EnforcementWorkers implements PolicyEngine {
  readonly #threads: EnforcementThreads
  readonly #latencies = new LatencyTracker()
  readonly #fastQueue = new KeyedQueue()
  readonly #slowQueue = new KeyedQueue()

  constructor(threads: EnforcementThreads) {
    this.#threads = threads
  }

  async evaluate(
    input: EngineInput,
    policies: readonly PolicyInvocation[],
    origin: EvaluationOrigin,
  ): Promise<readonly PolicyResult[]> {
    const { fast, slow } = this.#threads
    if (policies.length === 0) return []
    if (input.kind === 'stored-plan' || input.kind === 'input')
      return await slow.evaluate(input, policies, origin)
    const key = batchKey(policies)
    const { tenant } = origin
    // Undefined if these policies have proved slow, so that the fast thread must not evaluate them.
    const results = await this.#fastQueue.run(
      key,
      { tenant, perTenantMax: PENDING_PER_KEY_MAX },
      async () =>
        this.#latencies.isSlow(key)
          ? undefined
          : this.#recordLatency(key, await fast.evaluateBatch(input, policies, origin)),
    )
    if (results !== undefined && typeof results !== 'string') return results
    const pendingMax = Math.min(
      PENDING_PER_KEY_MAX,
      Math.floor(SLOW_WAIT_MS_MAX / this.#latencies.averageMs(key)),
    )
    return await this.#slowQueue.run(key, { tenant, perTenantMax: pendingMax }, async () =>
      this.#recordLatency(key, await slow.evaluateTimed(input, policies, origin)),
    )
  }

  async diagnose(
    policy: PolicyDefinition,
    origin: EvaluationOrigin,
  ): Promise<readonly Diagnostic[]> {
    const diagnostics = await this.#threads.fast.tryDiagnose(policy, origin)
    return typeof diagnostics === 'string'
      ? await this.#threads.slow.diagnose(policy, origin)
      : diagnostics
  }

  inspectPlan(plan: Uint8Array, origin: EvaluationOrigin): Promise<Result<InspectedPlan, string>> {
    return this.#threads.slow.inspectPlan(plan, origin)
  }

  async stop(): Promise<void> {
    await Promise.all([this.#threads.fast.stop(), this.#threads.slow.stop()])
  }

  /** Records the duration of an evaluation. */
  #recordLatency<Said>(
    key: string,
    { results, ms }: { readonly results: Said; readonly ms: number },
  ): Said {
    this.#latencies.record(key, ms)
    return results
  }
}

/** Policies that are evaluated together are slow together, so the key of one is enough. */
function batchKey(policies: readonly PolicyInvocation[]): string {
  return policies.map(({ policy }) => policyCodeHash(policy)).join('')
}

export function createEnforcementWorkers(options: {
  readonly clock: Clock
  readonly version: string
}): EnforcementWorkers {
  const fast = new WorkerEngine({
    ...options,
    limits: { ...WORKER_LIMITS, timeoutMs: FAST_TIMEOUT_MS },
  })
  return new EnforcementWorkers({ fast, slow: new WorkerEngine(options) })
}
