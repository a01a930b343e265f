import type { Clock } from '@reeve/kit/clock.ts'
import { FairQueue } from '@reeve/kit/fair-queue.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'
import { LruCache } from '@reeve/kit/lru-cache.ts'
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
import { policyCodeHash, WORKER_LIMITS, WorkerEngine } from './worker-engine.ts'

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

/** An evaluation above this delays others too much. */
const SLOW_MS = 100
/**
 * Weight of the newest sample in the moving average; one cold start does not mark a policy as slow.
 */
const NEWEST_WEIGHT = 1 / 4
/** Averages below this are dropped. */
const NEGLIGIBLE_MS = 10
/** Number of cached averages. */
const LATENCIES_MAX = 1_000

/** Moving average of evaluation durations by key. */
class LatencyTracker {
  readonly #averages = new LruCache<string, number>({ weightMax: LATENCIES_MAX })

  averageMs(key: string): number {
    return this.#averages.get(key) ?? 0
  }

  isSlow(key: string): boolean {
    return this.averageMs(key) > SLOW_MS
  }

  record(key: string, ms: number): void {
    const before = this.averageMs(key)
    const average = before + (ms - before) * NEWEST_WEIGHT
    this.#averages.delete(key)
    if (average < NEGLIGIBLE_MS) return
    this.#averages.set(key, average)
  }
}

/** Tenant of an evaluation, and the limit of its pending evaluations of the same policies. */
interface KeyLimits {
  readonly tenant: string
  readonly perTenantMax: number
}

/**
 * Limit of pending evaluations of the same policies for all tenants: a multiple of one tenant's
 * share.
 */
const TENANT_SHARES = 4
const QUEUE_PENDING_MAX = 4_096

/**
 * Serializes evaluations of the same policies, so that many evaluations of slow policies do not
 * delay those of others: after the first, the rest are routed to the slow thread. Tenants that
 * share policies are served round-robin.
 */
class KeyedQueue {
  /** Pending evaluations by key; the running one is not included. */
  readonly #pending = new Map<string, FairQueue<() => void>>()

  /** Runs the function when its turn comes; throws a fault if too many are pending. */
  async run<T>(key: string, limits: KeyLimits, task: () => Promise<T>): Promise<T> {
    await this.#acquire(key, limits)
    try {
      return await task()
    } finally {
      this.#release(key)
    }
  }

  #acquire(key: string, { tenant, perTenantMax }: KeyLimits): Promise<void> | undefined {
    const queue = this.#pending.get(key)
    if (queue === undefined) {
      this.#pending.set(key, new FairQueue(FAIR_QUEUE_LIMITS))
      return undefined
    }
    // The limit includes the running evaluation.
    const pendingOfTenant = queue.sizeOf(tenant) + 1
    if (pendingOfTenant >= perTenantMax || queue.size >= perTenantMax * TENANT_SHARES)
      throw new Fault(
        OVERLOADED,
        `${Math.max(pendingOfTenant, queue.size)} questions wait for the same policies (limit ${perTenantMax} per tenant); retry later`,
      )
    return new Promise((resume) => {
      queue.push(tenant, resume)
    })
  }

  #release(key: string): void {
    const next = this.#pending.get(key)?.take()
    if (next === undefined) this.#pending.delete(key)
    else next()
  }
}

const FAIR_QUEUE_LIMITS = {
  itemsMax: QUEUE_PENDING_MAX,
  itemsPerTenantMax: QUEUE_PENDING_MAX,
  quantum: 1,
}
