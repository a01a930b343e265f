import { createHash } from 'node:crypto'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  type ArchiveProblem,
  type ArchiveTarget,
  type Diagnostic,
  type EngineInput,
  erroredResult,
  type EvaluationOrigin,
  type InputProblem,
  type InspectedPlan,
  type PolicyDefinition,
  type PolicyEngine,
  type PolicyInvocation,
  type PolicyResult,
  type SetArchive,
} from '../policy/index.ts'
import {
  transferableBuffers,
  overloadMessage,
  ThreadQueue,
  type ThreadLimits,
  type ThreadResult,
} from '../threads/index.ts'
import {
  serializeInput,
  type WorkerResponse,
  type WorkerRequest,
  type WorkerCommand,
  type PolicyRef,
  type InputJson,
} from './worker-tasks.ts'

/** Limits of the worker: time per policy, memory, and pending evaluations. */
export const WORKER_LIMITS: ThreadLimits = {
  timeoutMs: 10_000,
  megabytesMax: 1_024,
  waitingPerTenantMax: 256,
  waitingMax: 1_024,
  waitMsMax: 60_000,
}

/** Time limit for all policies of one evaluation together. */
const BATCH_MS_MAX = 60_000

/** Maximum number of policies whose code the thread caches; the least recently used are evicted. */
const CACHED_CODES_MAX = 500
/** Share of the thread's memory for cached code. */
const CODE_MEMORY_SHARE = 1 / 16
const BYTES_PER_MEGABYTE = 1024 * 1024

interface WorkerEngineOptions {
  readonly clock: Clock
  readonly version: string
  readonly limits?: ThreadLimits
}

/** Evaluates policies on a thread of its own. The thread is started on first use. */
export class WorkerEngine implements PolicyEngine {
  readonly #queue: ThreadQueue<WorkerRequest, WorkerResponse>
  readonly #limits: ThreadLimits
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** Hashes and lengths of the code that the worker has, the least recently used first. */
  readonly #cachedCodes = new Map<string, number>()

  constructor({ clock, version, limits = WORKER_LIMITS }: WorkerEngineOptions) {
    this.#limits = limits
    this.#clock = clock
    this.#queue = new ThreadQueue({
      clock,
      file: new URL('./judging-worker.ts', import.meta.url),
      description: 'asks policies',
      limits,
      workerData: version,
      onStart: () => this.#cachedCodes.clear(),
    })
  }

  async evaluate(
    input: EngineInput,
    policies: readonly PolicyInvocation[],
    origin: EvaluationOrigin,
  ): Promise<readonly PolicyResult[]> {
    return (await this.evaluateTimed(input, policies, origin)).results
  }

  /** Evaluates policies and measures the time, without the time spent waiting in the queue. */
  async evaluateTimed(
    input: EngineInput,
    policies: readonly PolicyInvocation[],
    origin: EvaluationOrigin,
  ): Promise<TimedResults> {
    if (policies.length === 0) return { results: [], ms: 0 }
    const pending = { text: serializeOnce(input), origin }
    const { results: all, ms } = await this.#evaluate(pending, policies)
    if (typeof all !== 'string') return { results: all, ms }
    // The batch exceeded a limit. Policies are evaluated one by one, so that only the offending one
    // fails.
    if (policies.length === 1) return { results: [erroredResult(all)], ms }
    return await this.#evaluateSeparately(pending, policies, ms)
  }

  /**
   * Evaluates all policies as one task, or returns why it failed: one of them may exceed a limit.
   */
  evaluateBatch(
    input: EngineInput,
    policies: readonly PolicyInvocation[],
    origin: EvaluationOrigin,
  ): Promise<TimedAttempt> {
    return this.#evaluate({ text: serializeOnce(input), origin }, policies)
  }

  async diagnose(
    policy: PolicyDefinition,
    origin: EvaluationOrigin,
  ): Promise<readonly Diagnostic[]> {
    const result = await this.tryDiagnose(policy, origin)
    if (typeof result !== 'string') return result
    return [{ severity: 'error', line: 1, column: 1, message: result }]
  }

  /** Returns the diagnostics of a policy, or why the check failed. */
  async tryDiagnose(
    policy: PolicyDefinition,
    origin: EvaluationOrigin,
  ): Promise<readonly Diagnostic[] | string> {
    const task = (): WorkerRequest =>
      this.#buildTask([policy], ([ref]) => ({
        kind: 'diagnose',
        policy: ref ?? toPolicyRef(policy),
      }))
    const result = await this.#queue.run(task, origin)
    if (result.kind !== 'done') return this.#limitMessage(result)
    return result.outcome.kind === 'diagnosed' ? result.outcome.diagnostics : []
  }

  async inspectPlan(
    plan: Uint8Array,
    origin: EvaluationOrigin,
  ): Promise<Result<InspectedPlan, string>> {
    const transferred = transferableBuffers(plan)
    const run = this.#run({ kind: 'inspect', plan }, origin, transferred)
    // A plan that was never transferred is still in this thread.
    const result = await run.finally(() => transferred.length > 0 && releaseBytes(plan))
    if (result.kind !== 'done') return err(this.#limitMessage(result, 'plan'))
    const { outcome } = result
    if (outcome.kind !== 'inspected') return err(UNEXPECTED_RESPONSE)
    const { facts, plan: bytes } = outcome
    if (!facts.ok) return facts
    return bytes === undefined ? err(UNEXPECTED_RESPONSE) : ok({ ...facts.value, bytes })
  }

  async inspectInput(
    json: Uint8Array,
    origin: EvaluationOrigin,
  ): Promise<Result<null, InputProblem>> {
    const result = await this.#run({ kind: 'inspect-input', json }, origin)
    if (result.kind !== 'done') return err(inputProblem(this.#limitMessage(result, 'input')))
    const { outcome } = result
    return outcome.kind === 'input-inspected'
      ? outcome.result
      : err(inputProblem(UNEXPECTED_RESPONSE))
  }

  /** The plan is copied because it belongs to the storage. */
  async redactPlan(
    plan: Uint8Array,
    origin: EvaluationOrigin,
  ): Promise<Result<Uint8Array, string>> {
    const result = await this.#run({ kind: 'redact', plan }, origin)
    if (result.kind !== 'done') return err(this.#limitMessage(result, 'plan'))
    return result.outcome.kind === 'redacted' ? result.outcome.plan : err(UNEXPECTED_RESPONSE)
  }

  async readSetArchive(
    archive: Uint8Array,
    set: ArchiveTarget,
    origin: EvaluationOrigin,
  ): Promise<Result<SetArchive, ArchiveProblem>> {
    const question: WorkerCommand = { kind: 'read-archive', archive, set }
    const result = await this.#run(question, origin, transferableBuffers(archive))
    if (result.kind !== 'done')
      return err({ kind: 'unreadable', message: this.#limitMessage(result, 'archive') })
    const { outcome } = result
    if (outcome.kind !== 'archive-read')
      return err({ kind: 'unreadable', message: UNEXPECTED_RESPONSE })
    return outcome.read
  }

  /** Runs a task that needs no policies. */
  #run(
    question: WorkerCommand,
    origin: EvaluationOrigin,
    transferred: readonly ArrayBuffer[] = [],
  ): Promise<ThreadResult<WorkerResponse>> {
    return this.#queue.run(() => ({ codes: [], forget: [], question }), origin, transferred)
  }

  /** Terminates the thread; pending tasks fail. */
  stop(): Promise<void> {
    return this.#queue.stop()
  }

  async #evaluateSeparately(
    pending: PendingEvaluation,
    policies: readonly PolicyInvocation[],
    elapsedMs: number,
  ): Promise<TimedResults> {
    const results: PolicyResult[] = []
    let spentMs = elapsedMs
    for (const invocation of policies)
      if (spentMs >= BATCH_MS_MAX)
        results.push(erroredResult(`all policies together take longer than ${BATCH_MS_MAX} ms`))
      else {
        const { results: result, ms } = await this.#evaluate(pending, [invocation])
        results.push(...(typeof result === 'string' ? [erroredResult(result)] : result))
        spentMs += ms
      }
    return { results: results, ms: spentMs }
  }

  async #evaluate(
    { text, origin }: PendingEvaluation,
    policies: readonly PolicyInvocation[],
  ): Promise<TimedAttempt> {
    let startMs = 0
    const task = (): WorkerRequest => {
      // Waiting in the queue is not measured.
      startMs = this.#clock.monotonicMs()
      return this.#buildTask(
        policies.map(({ policy }) => policy),
        (sent) => ({
          kind: 'judge',
          ...text(),
          policies: sent.map((policy, index) => ({
            policy,
            params: JSON.stringify(policies[index]?.params ?? {}),
          })),
        }),
      )
    }
    const result = await this.#queue.run(task, origin)
    const ms = this.#clock.monotonicMs() - startMs
    if (result.kind !== 'done') return { results: this.#limitMessage(result), ms }
    return { results: result.outcome.kind === 'judged' ? result.outcome.judgements : [], ms }
  }

  /** Builds a task. Code that the worker already has is not sent. */
  #buildTask(
    policies: readonly PolicyDefinition[],
    question: (sent: readonly PolicyRef[]) => WorkerCommand,
  ): WorkerRequest {
    const sent = policies.map(toPolicyRef)
    const codes: [string, string][] = []
    for (const [index, { codeHash }] of sent.entries()) {
      const code = policies[index]?.code ?? ''
      const isNew = !this.#cachedCodes.delete(codeHash)
      this.#cachedCodes.set(codeHash, code.length)
      if (isNew) codes.push([codeHash, code])
    }
    const needed = new Set(sent.map(({ codeHash }) => codeHash))
    return { codes, forget: this.#evictLeastUsed(needed), question: question(sent) }
  }

  /** Returns the least recently used code to evict, by number and total size. */
  #evictLeastUsed(needed: ReadonlySet<string>): readonly string[] {
    const charsMax = this.#limits.megabytesMax * BYTES_PER_MEGABYTE * CODE_MEMORY_SHARE
    let chars = 0
    for (const length of this.#cachedCodes.values()) chars += length
    const evicted: string[] = []
    for (const [hash, length] of this.#cachedCodes) {
      if (this.#cachedCodes.size <= CACHED_CODES_MAX && chars <= charsMax) break
      if (needed.has(hash)) continue
      this.#cachedCodes.delete(hash)
      chars -= length
      evicted.push(hash)
    }
    return evicted
  }

  #limitMessage(
    result: Exclude<ThreadResult<WorkerResponse>, { kind: 'done' }>,
    subjectNoun: 'policy' | 'plan' | 'input' | 'archive' = 'policy',
  ): string {
    const { timeoutMs, megabytesMax } = this.#limits
    switch (result.kind) {
      case 'too-slow':
        return `the ${subjectNoun} takes longer than ${timeoutMs} ms`
      case 'too-large':
        return `the ${subjectNoun} takes more than ${megabytesMax} MB of memory`
      case 'overloaded':
        // There is no result: the caller must retry, and nothing is recorded.
        throw new Fault(
          OVERLOADED,
          overloadMessage(result.cause, 'policy evaluations', this.#limits),
        )
    }
  }
}

/** A subject that is serialized when its task starts; queued tasks hold no text. */
interface PendingEvaluation {
  readonly text: () => SerializedInput
  readonly origin: EvaluationOrigin
}

interface SerializedInput {
  readonly subject: string
  readonly json: InputJson | undefined
}

interface TimedResults {
  readonly results: readonly PolicyResult[]
  readonly ms: number
}

/** Results, or the reason why there are none. */
interface TimedAttempt {
  readonly results: readonly PolicyResult[] | string
  readonly ms: number
}

function serializeOnce(input: EngineInput): () => SerializedInput {
  let serialized: SerializedInput | undefined
  return () => (serialized ??= { subject: serializeInput(input), json: inputJson(input) })
}

function inputJson(input: EngineInput): InputJson | undefined {
  const { kind } = input
  if (kind === 'stored-plan') return { kind, bytes: input.bytes }
  return kind === 'input' ? { kind, bytes: input.json } : undefined
}

function inputProblem(message: string): InputProblem {
  return { member: '', message }
}

function toPolicyRef(policy: PolicyDefinition): PolicyRef {
  const { name, kind, query } = policy
  return { name, kind, query, codeHash: policyCodeHash(policy) }
}

const codeHashes = new WeakMap<PolicyDefinition, string>()

/** Returns the cache key of a policy's code. */
export function policyCodeHash(policy: PolicyDefinition): string {
  const cached = codeHashes.get(policy)
  if (cached !== undefined) return cached
  const codeHash = createHash('sha256').update(policy.code).digest('base64')
  codeHashes.set(policy, codeHash)
  return codeHash
}

const UNEXPECTED_RESPONSE = 'the thread answered another question'
