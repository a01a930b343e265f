import type { v2 } from '@reeve/contract'
import type { StandardImportOptions } from '@reeve/native-policy'
import type { EvaluateOptions } from '@reeve/rego'
import type { NativeData } from './native-data.ts'
import type { PlainObject, Subject } from './subject.ts'

export type Diagnostic = v2.PolicyDiagnostic

/** A policy with its code. */
export interface PolicyText {
  readonly name: string
  readonly kind: 'native' | 'opa'
  readonly code: string
  /** What an `opa` policy is asked. */
  readonly query: string | null
}

/** What a policy said about one subject. */
export interface Judgement {
  readonly status: 'passed' | 'failed' | 'errored'
  readonly output: readonly unknown[]
  readonly findings: readonly v2.PolicyFinding[]
  /** What is odd about the policy itself, whatever it says of the subject. */
  readonly warning?: string
  /** Why it was not asked, and so passed. */
  readonly skipped?: string
}

export interface JudgeOptions extends StandardImportOptions {
  readonly isCancelled: () => boolean
  readonly random: () => number
  /** How far the clocks of a zone are ahead of UTC. */
  readonly offsetAt: NonNullable<EvaluateOptions['zoneOffset']>
  /** Keys and signatures of Rego. */
  readonly crypto?: EvaluateOptions['crypto']
}

export interface AskedPolicy {
  readonly policy: PolicyText
  /** Parameters of the set, decoded. */
  readonly params: PlainObject
}

export interface Asking {
  readonly subject: Subject
  readonly data: NativeData
  readonly options: JudgeOptions
}
