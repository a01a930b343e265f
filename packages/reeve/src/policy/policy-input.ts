import type { JsonValue } from '@reeve/native-policy'

/** A JSON object. */
export type JsonObject = { readonly [name: string]: JsonValue }

/** Input of a policy. */
export type PolicyInput = JobInput | PlanInput

/** A job to be registered, planned, scaled, dispatched or reverted. */
export interface JobInput {
  readonly kind: 'job'
  /** The job with defaults filled in, as it would be stored. */
  readonly job: JsonObject
  /** The current version of the job; undefined if the job is new. */
  readonly existingJob: JsonObject | undefined
  readonly namespace: string
  /** The ACL token of the caller without its secret; undefined if ACLs are disabled. */
  readonly token: JsonObject | undefined
  /** Variables below the prefix that policies may read, by path. */
  readonly variables: ReadonlyMap<string, JsonObject>
}

/** An infrastructure plan of a run in a workspace. */
export interface PlanInput {
  readonly kind: 'plan'
  /** The plan as it was uploaded. */
  readonly plan: JsonObject
  /** Attributes of the run that policies can read. */
  readonly run: JsonObject
}
