import type { JsonValue } from '@reeve/native-policy'

/** Plain data with named members. */
export type PlainObject = { readonly [name: string]: JsonValue }

/** What a policy judges. */
export type Subject = JobSubject | PlanSubject

/** A job that somebody wants to register, plan, scale, dispatch or revert. */
export interface JobSubject {
  readonly kind: 'job'
  /** With its defaults filled in, as it would be stored. */
  readonly job: PlainObject
  /** The job as it is now; undefined when it is new. */
  readonly existingJob: PlainObject | undefined
  readonly namespace: string
  /** Who asks; never holds the secret. Undefined when access control is off. */
  readonly token: PlainObject | undefined
  /** Variables below the prefix that policies may read, by path. */
  readonly variables: ReadonlyMap<string, PlainObject>
}

/** An infrastructure plan of a run in a workspace. */
export interface PlanSubject {
  readonly kind: 'plan'
  /** The document as it was uploaded. */
  readonly plan: PlainObject
  /** What policies may ask of the run. */
  readonly run: PlainObject
}
