import { randomInt } from 'node:crypto'
import {
  Judge,
  type AskedPolicy,
  type Diagnostic,
  type Judgement,
  type PolicyText,
  type Subject,
} from '../policy/index.ts'
import type { Clock } from '../kit/clock.ts'

/** A policy without its code, which the thread has by its hash. */
export interface SentPolicy extends Omit<PolicyText, 'code'> {
  readonly codeHash: string
}

/** What the thread is asked; data goes as JSON text, which is copied faster than objects. */
export interface JudgingTask {
  /** Code that the thread does not have yet. */
  readonly codes: readonly (readonly [hash: string, code: string])[]
  /** Code that is not needed any more. */
  readonly forget: readonly string[]
  readonly question: Question
}

export type Question =
  | {
      readonly kind: 'judge'
      readonly subject: string
      readonly policies: readonly { readonly policy: SentPolicy; readonly params: string }[]
    }
  | { readonly kind: 'diagnose'; readonly policy: SentPolicy }

export type JudgingOutcome =
  | { readonly kind: 'judged'; readonly judgements: readonly Judgement[] }
  | { readonly kind: 'diagnosed'; readonly diagnostics: readonly Diagnostic[] }

export interface JudgingHost {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly version: string
  readonly offsetAt: (zone: string, ms: number) => number
}

const DRAWS = 2 ** 47
const NS_PER_MS = 1_000_000n

/** The work of the thread; keeps the code it was sent and what it compiled. */
export class JudgingDesk {
  readonly #judge = new Judge()
  readonly #codes = new Map<string, string>()
  readonly #host: JudgingHost

  constructor(host: JudgingHost) {
    this.#host = host
  }

  run({ codes, forget, question }: JudgingTask): JudgingOutcome {
    for (const hash of forget) this.#codes.delete(hash)
    for (const [hash, code] of codes) this.#codes.set(hash, code)
    if (question.kind === 'diagnose')
      return {
        kind: 'diagnosed',
        diagnostics: this.#judge.diagnose(this.#withCode(question.policy)),
      }
    const asked = question.policies.map(({ policy, params }): AskedPolicy => ({
      policy: this.#withCode(policy),
      params: JSON.parse(params),
    }))
    const judgements = this.#judge.judge(readSubject(question.subject), asked, this.#options())
    return { kind: 'judged', judgements }
  }

  #withCode({ codeHash, ...policy }: SentPolicy): PolicyText {
    return { ...policy, code: this.#codes.get(codeHash) ?? '' }
  }

  #options() {
    const { clock, version, offsetAt } = this.#host
    const nowMs = clock.nowMs()
    return {
      version,
      time: { nowNs: BigInt(nowMs) * NS_PER_MS, zone: 'UTC', offsetSeconds: () => 0 },
      // The queue ends the thread when a task takes too long.
      isCancelled: () => false,
      random: () => randomInt(DRAWS) / DRAWS,
      offsetAt,
    }
  }
}

/** Maps do not survive JSON: they go as lists of entries. */
export function writeSubject(subject: Subject): string {
  if (subject.kind === 'plan') return JSON.stringify(subject)
  return JSON.stringify({ ...subject, variables: [...subject.variables] })
}

function readSubject(text: string): Subject {
  const read = JSON.parse(text)
  return read.kind === 'plan' ? read : { ...read, variables: new Map(read.variables) }
}
