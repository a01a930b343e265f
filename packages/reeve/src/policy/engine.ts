import type { v2 } from '@reeve/contract'
import type { Result } from '@reeve/kit/result.ts'
import type { StandardImportOptions } from '@reeve/native-policy'
import type { EvaluateOptions } from '@reeve/rego'
import type { PlanCounts } from '../model/index.ts'
import type { NativeInput } from './native-input.ts'
import type { ArchiveTarget, ArchiveProblem, SetArchive } from './set-archive.ts'
import type { JsonObject, PolicyInput } from './policy-input.ts'
import { FINDINGS_MAX } from './limits.ts'

/**
 * A stored plan as input. Its bytes are parsed where policies are evaluated, because parsing may be
 * slow.
 */
interface StoredPlanInput {
  readonly kind: 'stored-plan'
  readonly bytes: Uint8Array
  /** Attributes of the run that policies can read. */
  readonly run: JsonObject
}

/** The input of a preview as JSON. A large input is parsed where policies are evaluated. */
interface RawInput {
  readonly kind: 'input'
  readonly json: Uint8Array
}

export type EngineInput = PolicyInput | StoredPlanInput | RawInput

/** A problem of an input and the member that has it; empty for the input itself. */
export interface InputProblem {
  readonly member: '' | 'plan'
  readonly message: string
}

/** Values that are stored with the bytes of a plan. */
export interface PlanSummary {
  readonly counts: PlanCounts
  readonly hasChanges: boolean
}

/** A validated plan with its bytes. */
export interface InspectedPlan extends PlanSummary {
  readonly bytes: Uint8Array
}

/**
 * Scheduling class of an evaluation. `guard`: a submission or a run waits for the result. `trial`:
 * a preview, which never delays evaluations that guard.
 */
export type EvaluationPurpose = 'guard' | 'trial'

/** The tenant of an evaluation, and its scheduling class. */
export interface EvaluationOrigin {
  /** An organization or a namespace. Tenants are served round-robin. */
  readonly tenant: string
  /** Defaults to `guard`. */
  readonly purpose?: EvaluationPurpose
}

/** Returns the tenant of evaluations for jobs of a namespace. */
export function namespaceTenant(namespace: string): string {
  return `namespace ${namespace}`
}

/**
 * Returns the tenant of an organization: for its plans, and for policies that it uploads or
 * previews.
 */
export function organizationTenant(organizationId: string): string {
  return `organization ${organizationId}`
}

/** Evaluates policies without blocking the event loop. */
export interface PolicyEngine {
  /**
   * Returns one result per policy, in order. A policy never makes the call fail: one that exceeds
   * its time or memory is `errored`. If too many evaluations are pending, a fault of kind
   * `overloaded` is thrown. Results for a stored plan do not contain the values that the plan marks
   * as sensitive.
   */
  evaluate(
    input: EngineInput,
    policies: readonly PolicyInvocation[],
    origin: EvaluationOrigin,
  ): Promise<readonly PolicyResult[]>
  diagnose(policy: PolicyDefinition, origin: EvaluationOrigin): Promise<readonly Diagnostic[]>
  /**
   * Validates a plan, or returns why it is invalid. The bytes may be transferred to the worker and
   * back, so the caller continues with the returned ones. If this method is missing, the caller
   * validates the plan itself.
   */
  inspectPlan?(plan: Uint8Array, origin: EvaluationOrigin): Promise<Result<InspectedPlan, string>>
  /** Validates the input of a preview, or returns why it is invalid. */
  inspectInput?(json: Uint8Array, origin: EvaluationOrigin): Promise<Result<null, InputProblem>>
  /** Returns a stored plan with its sensitive values redacted, as the API shows it. */
  redactPlan?(plan: Uint8Array, origin: EvaluationOrigin): Promise<Result<Uint8Array, string>>
  /** Unpacks and reads the archive of a policy set, which may take seconds. */
  readSetArchive?(
    archive: Uint8Array,
    set: ArchiveTarget,
    origin: EvaluationOrigin,
  ): Promise<Result<SetArchive, ArchiveProblem>>
}

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

/** Returns the result of a policy that cannot be evaluated: it fails closed. */
export function erroredResult(message: string): PolicyResult {
  const finding = { rule: null, line: null, column: null, message }
  return { status: 'errored', output: [], findings: [finding] }
}

/** Returns the warning of a result with more findings than are reported. */
export function omittedFindingsWarning(findingCount: number): { readonly warning?: string } {
  const omitted = findingCount - FINDINGS_MAX
  return omitted > 0 ? { warning: `${omitted} more findings are not kept` } : {}
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
