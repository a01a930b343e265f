import type {
  AclPolicyRules,
  HostVolumeCapability,
  NamespaceCapability,
  NodePoolCapability,
  OperatorCapability,
  RulePolicy,
  VariableCapability,
} from '@reeve/contract'

/** The shorthand as written; empty if the rule has none. */
export type PolicyShorthand = RulePolicy | ''

/**
 * One parsed policy document, in the form of the API. `Capabilities` include those of the
 * shorthand, so that compiling grants need not expand shorthands.
 */
export interface AclRules {
  readonly Namespaces: readonly NamespaceRule[] | null
  readonly NodePools: readonly NamedRule<NodePoolCapability>[] | null
  readonly HostVolumes: readonly NamedRule<HostVolumeCapability>[] | null
  readonly Agent: UnlabelledRule | null
  readonly Node: UnlabelledRule | null
  readonly Operator: OperatorRule | null
  readonly Quota: UnlabelledRule | null
  readonly Plugin: UnlabelledRule | null
}

export interface NamedRule<C> {
  /** A name, or a pattern with `*`. */
  readonly Name: string
  readonly Policy: PolicyShorthand
  readonly Capabilities: readonly C[]
}

export interface NamespaceRule extends NamedRule<NamespaceCapability> {
  readonly Variables: { readonly Paths: readonly PathRule[] } | null
}

export interface PathRule {
  readonly PathSpec: string
  readonly Capabilities: readonly VariableCapability[]
}

export interface UnlabelledRule {
  readonly Policy: PolicyShorthand
}

export interface OperatorRule extends UnlabelledRule {
  readonly Capabilities: readonly OperatorCapability[]
}

/** Rules of an empty document: it neither grants nor denies anything. */
export const NO_RULES: AclRules = {
  Namespaces: null,
  NodePools: null,
  HostVolumes: null,
  Agent: null,
  Node: null,
  Operator: null,
  Quota: null,
  Plugin: null,
}

/** Returns `RulesJSON` of a policy, which equals the parsed form. */
export function rulesJson(rules: AclRules): AclPolicyRules {
  return rules
}
