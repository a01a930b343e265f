import type { Clock } from '../kit/clock.ts'
import { Fault, OVERLOADED } from '../kit/fault.ts'
import type { Result } from '../kit/result.ts'
import type {
  AskedPolicy,
  AskedSubject,
  Diagnostic,
  Judgement,
  PlanFacts,
  PolicyAsker,
  PolicyText,
} from '../policy/index.ts'
import { Paces } from './paces.ts'
import { codeHashOf, JUDGING_LIMITS, PolicyThread } from './policy-thread.ts'

/** What takes longer than this is asked anew where it holds up nobody who is quick. */
const QUICK_MS_MAX = 1_000
/**
 * Questions to the same slow policies that wait or are asked. Each may take ten seconds: with more
 * of them the last would wait longer than anybody stays, and others with it.
 */
const SLOW_WAITING_MAX = 8

/** The threads as `GuardThreads` uses them. */
interface Threads {
  readonly quick: Pick<PolicyThread, 'askTogether' | 'tryDiagnose' | 'stop'>
  readonly patient: Pick<PolicyThread, 'ask' | 'askTimed' | 'diagnose' | 'inspectPlan' | 'stop'>
}

/**
 * Asks what guards on two threads, so that slow policies make nobody wait but those whom they
 * guard: the quick one gives up after a second, and the patient one takes what was given up, what
 * was slow when it was last asked, and whatever needs a plan to be read. It starts with the first
 * of these.
 */
export class GuardThreads implements PolicyAsker {
  readonly #threads: Threads
  readonly #paces = new Paces()
  readonly #slowWaiting = new Map<string, number>()

  constructor(threads: Threads) {
    this.#threads = threads
  }

  async ask(
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
  ): Promise<readonly Judgement[]> {
    if (policies.length === 0) return []
    if (subject.kind === 'stored-plan') return await this.#threads.patient.ask(subject, policies)
    const key = keyOf(policies)
    if (!this.#paces.isSlow(key)) {
      const { said, ms } = await this.#threads.quick.askTogether(subject, policies)
      if (typeof said !== 'string') {
        this.#paces.measure(key, ms)
        return said
      }
    }
    return await this.#askPatiently(key, subject, policies)
  }

  async diagnose(policy: PolicyText): Promise<readonly Diagnostic[]> {
    const said = await this.#threads.quick.tryDiagnose(policy)
    return typeof said === 'string' ? await this.#threads.patient.diagnose(policy) : said
  }

  inspectPlan(plan: Uint8Array): Promise<Result<PlanFacts, string>> {
    return this.#threads.patient.inspectPlan(plan)
  }

  async stop(): Promise<void> {
    await Promise.all([this.#threads.quick.stop(), this.#threads.patient.stop()])
  }

  async #askPatiently(
    key: string,
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
  ): Promise<readonly Judgement[]> {
    const waiting = this.#slowWaiting.get(key) ?? 0
    if (waiting >= SLOW_WAITING_MAX)
      throw new Fault(
        OVERLOADED,
        `${waiting} questions wait for policies that are slow to answer; try again`,
      )
    this.#slowWaiting.set(key, waiting + 1)
    try {
      const { said, ms } = await this.#threads.patient.askTimed(subject, policies)
      this.#paces.measure(key, ms)
      return said
    } finally {
      this.#leave(key)
    }
  }

  #leave(key: string): void {
    const others = (this.#slowWaiting.get(key) ?? 0) - 1
    if (others > 0) this.#slowWaiting.set(key, others)
    else this.#slowWaiting.delete(key)
  }
}

/** Policies that are asked together are slow together: one of them is enough. */
function keyOf(policies: readonly AskedPolicy[]): string {
  return policies.map(({ policy }) => codeHashOf(policy)).join('')
}

export function openGuardThreads(options: {
  readonly clock: Clock
  readonly version: string
}): GuardThreads {
  const quick = new PolicyThread({
    ...options,
    limits: { ...JUDGING_LIMITS, msMax: QUICK_MS_MAX },
  })
  return new GuardThreads({ quick, patient: new PolicyThread(options) })
}
