import type { EnforcementLevel, PlainObject } from '../../policy/index.ts'

/** A policy that guards a namespace. */
export interface GuardingPolicy {
  readonly id: string
  readonly name: string
  readonly kind: 'native' | 'opa'
  readonly query: string | null
  readonly level: EnforcementLevel
  readonly description: string | null
  /** Names the code: equal hashes are equal texts. */
  readonly codeHash: string
  readonly params: PlainObject
}

/** A policy set that guards a namespace. */
export interface GuardingSet {
  readonly id: string
  /** Whose it is. */
  readonly organizationId: string
  readonly name: string
  readonly overridable: boolean
  /** Values of parameters that nobody is shown. */
  readonly secrets: readonly unknown[]
  readonly policies: readonly GuardingPolicy[]
}

/**
 * Where policies come from. They belong to the governance API, which the workload API does not
 * know: the composition root joins them.
 */
export interface PolicySource {
  /** Whether there is any set at all. Costs nothing, so that without policies nothing does. */
  hasPolicies(): boolean
  /** The sets that guard a namespace now, in the order in which they are told. */
  setsFor(namespace: string): readonly GuardingSet[]
  /** The organization that a namespace was given to; undefined when it is nobody's. */
  ownerOf(namespace: string): string | undefined
  /** Whether the organization of a set wants to be told why its policies are passed over. */
  needsComment(setId: string): boolean
  /** Undefined when it is not stored any more: somebody has replaced it. */
  readCode(codeHash: string): Promise<string | undefined>
}

/** Where nothing is guarded. */
export const NO_POLICIES: PolicySource = {
  hasPolicies: () => false,
  setsFor: () => [],
  ownerOf: () => undefined,
  needsComment: () => false,
  readCode: async () => undefined,
}
