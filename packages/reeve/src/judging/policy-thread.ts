import { createHash } from 'node:crypto'
import type { Clock } from '@reeve/kit/clock.ts'
import { Fault, OVERLOADED } from '@reeve/kit/fault.ts'
import { releaseBytes } from '@reeve/kit/bytes.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type {
  AskedPolicy,
  AskedSubject,
  AskingOrigin,
  ArchivedSet,
  ArchiveProblem,
  Diagnostic,
  InputProblem,
  InspectedPlan,
  Judgement,
  PolicyAsker,
  PolicyText,
  SetArchive,
} from '../policy/index.ts'
import {
  movable,
  overloadMessage,
  ThreadQueue,
  type ThreadLimits,
  type ThreadResult,
} from '../threads/index.ts'
import {
  writeSubject,
  type JudgingOutcome,
  type JudgingTask,
  type Question,
  type SentPolicy,
  type SubjectJson,
} from './judging-task.ts'

/** Time for a policy, memory of the engine. */
export const JUDGING_LIMITS: ThreadLimits = {
  msMax: 10_000,
  megabytesMax: 512,
  waitingPerTenantMax: 256,
  waitingMax: 1_024,
  waitMsMax: 60_000,
}

/** Time limit for all policies of one evaluation together. */
const QUESTION_MS_MAX = 60_000

/** Maximum number of policies whose code the thread caches; the least recently used are evicted. */
const CODES_MAX = 500
/** Share of the thread's memory for cached code. */
const CODES_SHARE = 1 / 8
const BYTES_PER_MEGABYTE = 1024 * 1024

export interface PolicyThreadOptions {
  readonly clock: Clock
  readonly version: string
  readonly limits?: ThreadLimits
}

/** Evaluates policies on a thread of its own. The thread is started on first use. */
export class PolicyThread implements PolicyAsker {
  readonly #queue: ThreadQueue<JudgingTask, JudgingOutcome>
  readonly #limits: ThreadLimits
  readonly #clock: Pick<Clock, 'monotonicMs'>
  /** Hashes and lengths of the codes that the thread has, the least recently used first. */
  readonly #known = new Map<string, number>()

  constructor({ clock, version, limits = JUDGING_LIMITS }: PolicyThreadOptions) {
    this.#limits = limits
    this.#clock = clock
    this.#queue = new ThreadQueue({
      clock,
      file: new URL('./judging-worker.ts', import.meta.url),
      does: 'asks policies',
      limits,
      data: version,
      started: () => this.#known.clear(),
    })
  }

  async ask(
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
    origin: AskingOrigin,
  ): Promise<readonly Judgement[]> {
    return (await this.askTimed(subject, policies, origin)).said
  }

  /** Evaluates policies and measures the time, without the time spent waiting in the queue. */
  async askTimed(
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
    origin: AskingOrigin,
  ): Promise<Answer> {
    if (policies.length === 0) return { said: [], ms: 0 }
    const asked = { text: sentSubject(subject), origin }
    const { said: all, ms } = await this.#judge(asked, policies)
    if (typeof all !== 'string') return { said: all, ms }
    // The batch exceeded a limit. Policies are evaluated one by one, so that only the offending one
    // fails.
    if (policies.length === 1) return { said: [errored(all)], ms }
    return await this.#askOneByOne(asked, policies, ms)
  }

  /**
   * Evaluates all policies as one task, or returns why it failed: one of them may exceed a limit.
   */
  askTogether(
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
    origin: AskingOrigin,
  ): Promise<Attempt> {
    return this.#judge({ text: sentSubject(subject), origin }, policies)
  }

  async diagnose(policy: PolicyText, origin: AskingOrigin): Promise<readonly Diagnostic[]> {
    const said = await this.tryDiagnose(policy, origin)
    if (typeof said !== 'string') return said
    return [{ severity: 'error', line: 1, column: 1, message: said }]
  }

  /** Returns the diagnostics of a policy, or why the check failed. */
  async tryDiagnose(
    policy: PolicyText,
    origin: AskingOrigin,
  ): Promise<readonly Diagnostic[] | string> {
    const task = (): JudgingTask =>
      this.#task([policy], ([sent]) => ({ kind: 'diagnose', policy: sent ?? sentPolicy(policy) }))
    const result = await this.#queue.run(task, origin)
    if (result.kind !== 'done') return this.#complaint(result)
    return result.outcome.kind === 'diagnosed' ? result.outcome.diagnostics : []
  }

  async inspectPlan(
    plan: Uint8Array,
    origin: AskingOrigin,
  ): Promise<Result<InspectedPlan, string>> {
    const moved = movable(plan)
    const run = this.#run({ kind: 'inspect', plan }, origin, moved)
    // A plan that was never transferred is still in this thread.
    const result = await run.finally(() => moved.length > 0 && releaseBytes(plan))
    if (result.kind !== 'done') return err(this.#complaint(result, 'plan'))
    const { outcome } = result
    if (outcome.kind !== 'inspected') return err(UNREAD)
    const { facts, plan: bytes } = outcome
    if (!facts.ok) return facts
    return bytes === undefined ? err(UNREAD) : ok({ ...facts.value, bytes })
  }

  async inspectInput(json: Uint8Array, origin: AskingOrigin): Promise<Result<null, InputProblem>> {
    const result = await this.#run({ kind: 'inspect-input', json }, origin)
    if (result.kind !== 'done') return err(inputProblem(this.#complaint(result, 'input')))
    const { outcome } = result
    return outcome.kind === 'input-inspected' ? outcome.result : err(inputProblem(UNREAD))
  }

  /** The plan is copied because it belongs to the storage. */
  async redactPlan(plan: Uint8Array, origin: AskingOrigin): Promise<Result<Uint8Array, string>> {
    const result = await this.#run({ kind: 'redact', plan }, origin)
    if (result.kind !== 'done') return err(this.#complaint(result, 'plan'))
    return result.outcome.kind === 'redacted' ? result.outcome.plan : err(UNREAD)
  }

  async readSetArchive(
    archive: Uint8Array,
    set: ArchivedSet,
    origin: AskingOrigin,
  ): Promise<Result<SetArchive, ArchiveProblem>> {
    const question: Question = { kind: 'read-archive', archive, set }
    const result = await this.#run(question, origin, movable(archive))
    if (result.kind !== 'done')
      return err({ kind: 'unreadable', message: this.#complaint(result, 'archive') })
    const { outcome } = result
    if (outcome.kind !== 'archive-read') return err({ kind: 'unreadable', message: UNREAD })
    return outcome.read
  }

  /** Runs a task that needs no policies. */
  #run(
    question: Question,
    origin: AskingOrigin,
    moved: readonly ArrayBuffer[] = [],
  ): Promise<ThreadResult<JudgingOutcome>> {
    return this.#queue.run(() => ({ codes: [], forget: [], question }), origin, moved)
  }

  /** Terminates the thread; pending tasks fail. */
  stop(): Promise<void> {
    return this.#queue.stop()
  }

  async #askOneByOne(
    asking: Asking,
    policies: readonly AskedPolicy[],
    alreadyMs: number,
  ): Promise<Answer> {
    const judgements: Judgement[] = []
    let spentMs = alreadyMs
    for (const asked of policies)
      if (spentMs >= QUESTION_MS_MAX)
        judgements.push(errored(`all policies together take longer than ${QUESTION_MS_MAX} ms`))
      else {
        const { said, ms } = await this.#judge(asking, [asked])
        judgements.push(...(typeof said === 'string' ? [errored(said)] : said))
        spentMs += ms
      }
    return { said: judgements, ms: spentMs }
  }

  async #judge({ text, origin }: Asking, policies: readonly AskedPolicy[]): Promise<Attempt> {
    let startMs = 0
    const task = (): JudgingTask => {
      // Waiting in the queue is not measured.
      startMs = this.#clock.monotonicMs()
      return this.#task(
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
    if (result.kind !== 'done') return { said: this.#complaint(result), ms }
    return { said: result.outcome.kind === 'judged' ? result.outcome.judgements : [], ms }
  }

  /** Builds the task; code that the thread already has is not sent. */
  #task(
    policies: readonly PolicyText[],
    question: (sent: readonly SentPolicy[]) => Question,
  ): JudgingTask {
    const sent = policies.map(sentPolicy)
    const codes: [string, string][] = []
    for (const [index, { codeHash }] of sent.entries()) {
      const code = policies[index]?.code ?? ''
      const isNew = !this.#known.delete(codeHash)
      this.#known.set(codeHash, code.length)
      if (isNew) codes.push([codeHash, code])
    }
    const needed = new Set(sent.map(({ codeHash }) => codeHash))
    return { codes, forget: this.#forgotten(needed), question: question(sent) }
  }

  /** Returns the least recently used code to evict, by number and total size. */
  #forgotten(needed: ReadonlySet<string>): readonly string[] {
    const charsMax = this.#limits.megabytesMax * BYTES_PER_MEGABYTE * CODES_SHARE
    let chars = 0
    for (const length of this.#known.values()) chars += length
    const forgotten: string[] = []
    for (const [hash, length] of this.#known) {
      if (this.#known.size <= CODES_MAX && chars <= charsMax) break
      if (needed.has(hash)) continue
      this.#known.delete(hash)
      chars -= length
      forgotten.push(hash)
    }
    return forgotten
  }

  #complaint(
    result: Exclude<ThreadResult<JudgingOutcome>, { kind: 'done' }>,
    what: 'policy' | 'plan' | 'input' | 'archive' = 'policy',
  ): string {
    const { msMax, megabytesMax } = this.#limits
    switch (result.kind) {
      case 'too-slow':
        return `the ${what} takes longer than ${msMax} ms`
      case 'too-large':
        return `the ${what} takes more than ${megabytesMax} MB of memory`
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
interface Asking {
  readonly text: () => SentSubject
  readonly origin: AskingOrigin
}

interface SentSubject {
  readonly subject: string
  readonly json: SubjectJson | undefined
}

interface Answer {
  readonly said: readonly Judgement[]
  readonly ms: number
}

/** Judgements, or the reason why there are none. */
interface Attempt {
  readonly said: readonly Judgement[] | string
  readonly ms: number
}

function sentSubject(subject: AskedSubject): () => SentSubject {
  let written: SentSubject | undefined
  return () => (written ??= { subject: writeSubject(subject), json: jsonOf(subject) })
}

function jsonOf(subject: AskedSubject): SubjectJson | undefined {
  const { kind } = subject
  if (kind === 'stored-plan') return { kind, bytes: subject.bytes }
  return kind === 'input' ? { kind, bytes: subject.json } : undefined
}

function inputProblem(message: string): InputProblem {
  return { member: '', message }
}

function sentPolicy(policy: PolicyText): SentPolicy {
  const { name, kind, query } = policy
  return { name, kind, query, codeHash: codeHashOf(policy) }
}

const hashes = new WeakMap<PolicyText, string>()

/** Returns the cache key of a policy's code. */
export function codeHashOf(policy: PolicyText): string {
  const known = hashes.get(policy)
  if (known !== undefined) return known
  const codeHash = createHash('sha256').update(policy.code).digest('base64')
  hashes.set(policy, codeHash)
  return codeHash
}

const UNREAD = 'the thread answered another question'

/** Fails closed. */
function errored(message: string): Judgement {
  return {
    status: 'errored',
    output: [],
    findings: [{ rule: null, line: null, column: null, message }],
  }
}
