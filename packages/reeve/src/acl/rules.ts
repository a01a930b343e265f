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
export type WrittenPolicy = RulePolicy | ''

/**
 * One parsed policy document, in the form of the API. `Capabilities` include those of the
 * shorthand, so that compiling grants need not expand shorthands.
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
