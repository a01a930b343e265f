import type { v2 } from '@reeve/contract'
import type { StandardImportOptions } from '@reeve/native-policy'
import type { EvaluateOptions } from '@reeve/rego'
import type { NativeInput } from './native-data.ts'
import type { JsonObject, PolicyInput } from './subject.ts'

export type Diagnostic = v2.PolicyDiagnostic

/** A policy with its code. */
export interface PolicyDefinition {
  readonly name: string
  readonly kind: 'native' | 'opa'
  readonly code: string
  /** Query of an `opa` policy. */
  readonly query: string | null
}

/** Result of one policy for one input. */
export interface PolicyResult {
  readonly status: 'passed' | 'failed' | 'errored'
  readonly output: readonly unknown[]
  readonly findings: readonly v2.PolicyFinding[]
  /** A warning about the policy itself, independent of the input. */
  readonly warning?: string
  /** Why the policy was skipped; a skipped policy passes. */
  readonly skipped?: string
}

export interface EngineOptions extends StandardImportOptions {
  readonly isCancelled: () => boolean
  readonly random: () => number
  /** Returns the offset of a time zone from UTC in seconds. */
  readonly offsetAt: NonNullable<EvaluateOptions['zoneOffset']>
  /** Cryptographic functions for Rego. */
  readonly crypto?: EvaluateOptions['crypto']
}

export interface PolicyInvocation {
  readonly policy: PolicyDefinition
  /** Parameters of the set, decoded. */
  readonly params: JsonObject
}

export interface EvaluationContext {
  readonly input: PolicyInput
  readonly nativeInput: NativeInput
  readonly options: EngineOptions
}
