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

/** Evaluations over this limit are retried on the slow thread. */
const QUICK_MS_MAX = 1_000
/** Evaluations of the same policies that may be pending. */
const WAITING_MAX = 256
/** Maximum wait for slow policies; a request that would wait longer fails immediately. */
const STAY_MS = 60_000

/** Interface of the threads that `GuardThreads` uses. */
interface Threads {
  readonly quick: Pick<PolicyThread, 'askTogether' | 'tryDiagnose' | 'stop'>
  readonly patient: Pick<PolicyThread, 'ask' | 'askTimed' | 'diagnose' | 'inspectPlan' | 'stop'>
}

/**
 * Evaluates enforced policies on two threads, so that slow policies delay only the submissions that
 * they apply to. The quick thread gives up after a second. The slow thread takes over those
 * evaluations, and those of policies that were slow before or need a stored plan to be parsed. It
 * is started on first use.
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
    // Undefined if the quick thread must not evaluate these policies, because they have proved
    // slow.
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

  /** Records the duration of an evaluation. */
  #measured<Said>(key: string, { said, ms }: { readonly said: Said; readonly ms: number }): Said {
    this.#paces.measure(key, ms)
    return said
  }
}

/** Policies that are evaluated together are slow together, so the key of one is enough. */
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
