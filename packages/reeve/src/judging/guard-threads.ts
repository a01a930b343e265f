import type { Clock } from '@reeve/kit/clock.ts'
import type { Result } from '@reeve/kit/result.ts'
import type {
  AskedPolicy,
  AskedSubject,
  AskingOrigin,
  Diagnostic,
  InspectedPlan,
  Judgement,
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
    origin: AskingOrigin,
  ): Promise<readonly Judgement[]> {
    const { quick, patient } = this.#threads
    if (policies.length === 0) return []
    if (subject.kind === 'stored-plan' || subject.kind === 'input')
      return await patient.ask(subject, policies, origin)
    const key = keyOf(policies)
    const { tenant } = origin
    // Nothing when that is not for the quick thread, as its policies have shown by then.
    const said = await this.#quickTurns.take(key, { tenant, perTenantMax: WAITING_MAX }, async () =>
      this.#paces.isSlow(key)
        ? undefined
        : this.#measured(key, await quick.askTogether(subject, policies, origin)),
    )
    if (said !== undefined && typeof said !== 'string') return said
    const most = Math.min(WAITING_MAX, Math.floor(STAY_MS / this.#paces.msOf(key)))
    return await this.#patientTurns.take(key, { tenant, perTenantMax: most }, async () =>
      this.#measured(key, await patient.askTimed(subject, policies, origin)),
    )
  }

  async diagnose(policy: PolicyText, origin: AskingOrigin): Promise<readonly Diagnostic[]> {
    const said = await this.#threads.quick.tryDiagnose(policy, origin)
    return typeof said === 'string' ? await this.#threads.patient.diagnose(policy, origin) : said
  }

  inspectPlan(plan: Uint8Array, origin: AskingOrigin): Promise<Result<InspectedPlan, string>> {
    return this.#threads.patient.inspectPlan(plan, origin)
  }

  async stop(): Promise<void> {
    await Promise.all([this.#threads.quick.stop(), this.#threads.patient.stop()])
  }

  /** Remembers how long the policies took. */
  #measured<Said>(key: string, { said, ms }: { readonly said: Said; readonly ms: number }): Said {
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
