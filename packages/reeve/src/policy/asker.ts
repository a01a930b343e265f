import type { Result } from '@reeve/kit/result.ts'
import type { PlanCounts } from '../model/index.ts'
import type { AskedPolicy, Diagnostic, Judgement, PolicyText } from './judgement.ts'
import type { ArchivedSet, ArchiveProblem, SetArchive } from './set-archive.ts'
import type { PlainObject, Subject } from './subject.ts'

/** A plan as it is stored: read where policies are asked, since that may take a while. */
export interface StoredPlanSubject {
  readonly kind: 'stored-plan'
  readonly bytes: Uint8Array
  /** What policies may ask of the run. */
  readonly run: PlainObject
}

/** The input of a trial as JSON: a large one is parsed where policies are evaluated. */
export interface InputSubject {
  readonly kind: 'input'
  readonly json: Uint8Array
}

export type AskedSubject = Subject | StoredPlanSubject | InputSubject

/** The problem of an input, and the member of the input that has it; empty for the input itself. */
export interface InputProblem {
  readonly member: '' | 'plan'
  readonly message: string
}

/** What is kept of a plan beside its text. */
export interface PlanFacts {
  readonly counts: PlanCounts
  readonly hasChanges: boolean
}

/** A plan that was read, and its bytes. */
export interface InspectedPlan extends PlanFacts {
  readonly bytes: Uint8Array
}

/**
 * What hangs on the answer: a submission or a run waits for it, or nothing does. What is only tried
 * never holds up what guards.
 */
export type AskingPurpose = 'guard' | 'trial'

/** Whose question it is, and what depends on the answer. */
export interface AskingOrigin {
  /** An organization or a namespace: tenants have their turns one after the other. */
  readonly tenant: string
  /** `guard` unless given. */
  readonly purpose?: AskingPurpose
}

/** The tenant of questions about the jobs of a namespace. */
export function namespaceTenant(namespace: string): string {
  return `namespace ${namespace}`
}

/** The tenant of questions of an organization: its plans, and policies that it uploads or tries. */
export function organizationTenant(organizationId: string): string {
  return `organization ${organizationId}`
}

/** Asks policies where it costs requests nothing. */
export interface PolicyAsker {
  /**
   * One judgement for each policy, in order. Never fails because of a policy: one that takes too
   * long, or too much memory, is `errored` and says so. Where too many ask at once it throws a
   * fault of kind `overloaded`. About a stored plan nothing is said that the plan calls sensitive.
   */
  ask(
    subject: AskedSubject,
    policies: readonly AskedPolicy[],
    origin: AskingOrigin,
  ): Promise<readonly Judgement[]>
  diagnose(policy: PolicyText, origin: AskingOrigin): Promise<readonly Diagnostic[]>
  /**
   * Reads a plan there; else why it is none. The bytes may be moved to the thread and back: the
   * caller goes on with those that are returned. An asker without it leaves that to the caller.
   */
  inspectPlan?(plan: Uint8Array, origin: AskingOrigin): Promise<Result<InspectedPlan, string>>
  /** Whether policies can be asked about the input of a trial; else why not. */
  inspectInput?(json: Uint8Array, origin: AskingOrigin): Promise<Result<null, InputProblem>>
  /** The text of a stored plan as callers may see it: what it calls sensitive is masked. */
  redactPlan?(plan: Uint8Array, origin: AskingOrigin): Promise<Result<Uint8Array, string>>
  /** Unpacks and reads the archive of a policy set, which may take seconds. */
  readSetArchive?(
    archive: Uint8Array,
    set: ArchivedSet,
    origin: AskingOrigin,
  ): Promise<Result<SetArchive, ArchiveProblem>>
}
