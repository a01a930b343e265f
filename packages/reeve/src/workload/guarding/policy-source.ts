import type { EnforcementLevel, JsonObject } from '../../policy/index.ts'

/** A policy that applies to a namespace. */
export interface EnforcedPolicy {
  readonly id: string
  readonly name: string
  readonly kind: 'native' | 'opa'
  readonly query: string | null
  readonly level: EnforcementLevel
  readonly description: string | null
  /** Identifies the code: equal hashes are equal texts. */
  readonly codeHash: string
  readonly params: JsonObject
}

/** A policy set that applies to a namespace. */
export interface EnforcedPolicySet {
  readonly id: string
  /** The owner of the set. */
  readonly organizationId: string
  readonly name: string
  readonly overridable: boolean
  /** Values of sensitive parameters. */
  readonly secrets: readonly unknown[]
  readonly policies: readonly EnforcedPolicy[]
}

/**
 * Source of policies. They belong to the governance API, which the workload API does not import:
 * the composition root connects both.
 */
export interface PolicySource {
  /**
   * Reports whether any policy set exists. Cheap, so that installations without policies pay
   * nothing.
   */
  hasPolicies(): boolean
  /** Returns the sets that apply to a namespace, in the order of reporting. */
  policySetsFor(namespace: string): readonly EnforcedPolicySet[]
  /** Returns the organization of a namespace; undefined if it has none. */
  organizationOf(namespace: string): string | undefined
  /** Reports whether the organization of a set requires a comment for overrides. */
  requiresComment(setId: string): boolean
  /** Returns the code; undefined if it was replaced and is no longer stored. */
  readCode(codeHash: string): Promise<string | undefined>
}

/** Source without policies. */
export const NO_POLICIES: PolicySource = {
  hasPolicies: () => false,
  policySetsFor: () => [],
  organizationOf: () => undefined,
  requiresComment: () => false,
  readCode: async () => undefined,
}
