import type { Clock } from '../kit/clock.ts'
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
import { Turns } from './turns.ts'

/** What takes longer than this is asked anew where it holds up nobody who is quick. */
const QUICK_MS_MAX = 1_000
/** Questions to the same policies that wait or are asked. */
const WAITING_MAX = 256
/** As long as somebody stays who waits for slow policies; who would wait longer is told at once. */
const STAY_MS = 60_000

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
  readonly #quickTurns = new Turns()
  readonly #patientTurns = new Turns()

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
    const said = await this.#quickTurns.take(key, WAITING_MAX, () =>
      this.#askQuickly(key, subject, policies),
    )
    if (said !== undefined) return said
    const most = Math.min(WAITING_MAX, Math.floor(STAY_MS / this.#paces.msOf(key)))
    return await this.#patientTurns.take(key, most, () =>
      this.#askPatiently(key, subject, policies),
    )
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

  /** Nothing when that is not for the quick thread, as its policies have shown by now. */
  async #askQuickly(
    key: string,
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
  ): Promise<readonly Judgement[] | undefined> {
    if (this.#paces.isSlow(key)) return undefined
    const { said, ms } = await this.#threads.quick.askTogether(subject, policies)
    this.#paces.measure(key, ms)
    return typeof said === 'string' ? undefined : said
  }

  async #askPatiently(
    key: string,
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
  ): Promise<readonly Judgement[]> {
    const { said, ms } = await this.#threads.patient.askTimed(subject, policies)
    this.#paces.measure(key, ms)
    return said
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
