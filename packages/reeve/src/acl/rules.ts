import type {
  AclPolicyRules,
  HostVolumeCapability,
  NamespaceCapability,
  NodePoolCapability,
  OperatorCapability,
  RulePolicy,
  VariableCapability,
} from '@reeve/contract'

/** The shorthand as it was written; empty when a rule has none. */
export type WrittenPolicy = RulePolicy | ''

/**
 * One policy document after parsing. It has the form that the API shows, and `Capabilities` hold
 * those of the shorthand too, so that whoever compiles grants need not know the shorthands.
 */
export interface AclRules {
  readonly Namespaces: readonly NamespaceRule[] | null
  readonly NodePools: readonly LabelledRule<NodePoolCapability>[] | null
  readonly HostVolumes: readonly LabelledRule<HostVolumeCapability>[] | null
  readonly Agent: BareRule | null
  readonly Node: BareRule | null
  readonly Operator: OperatorRule | null
  readonly Quota: BareRule | null
  readonly Plugin: BareRule | null
}

export interface LabelledRule<C> {
  /** A name, or a pattern with `*`. */
  readonly Name: string
  readonly Policy: WrittenPolicy
  readonly Capabilities: readonly C[]
}

export interface NamespaceRule extends LabelledRule<NamespaceCapability> {
  readonly Variables: { readonly Paths: readonly PathRule[] } | null
}

export interface PathRule {
  readonly PathSpec: string
  readonly Capabilities: readonly VariableCapability[]
}

export interface BareRule {
  readonly Policy: WrittenPolicy
}

export interface OperatorRule extends BareRule {
  readonly Capabilities: readonly OperatorCapability[]
}

/** What an empty document says: nothing is granted, and nothing is denied. */
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

/** `RulesJSON` of a single policy. The parsed form is that form already. */
export function rulesJson(rules: AclRules): AclPolicyRules {
  return rules
}
