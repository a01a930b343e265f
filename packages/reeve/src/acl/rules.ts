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

/** Expansion of each shorthand; a missing one expands to nothing. */
type Shorthands<C> = { readonly [P in RulePolicy]?: readonly C[] }

/** Capabilities that each capability implies. */
type Implications<C extends string> = { readonly [I in C]?: readonly C[] }

const NAMESPACE_READ = [
  'list-jobs',
  'parse-job',
  'read-job',
  'csi-list-volume',
  'csi-read-volume',
  'read-job-scaling',
  'list-scaling-policies',
  'read-scaling-policy',
  'host-volume-read',
] as const

const NAMESPACE: Shorthands<NamespaceCapability> = {
  deny: ['deny'],
  read: NAMESPACE_READ,
  write: [
    ...NAMESPACE_READ,
    'scale-job',
    'submit-job',
    'dispatch-job',
    'read-logs',
    'read-fs',
    'alloc-exec',
    'alloc-lifecycle',
    'csi-mount-volume',
    'csi-write-volume',
    'submit-recommendation',
    'host-volume-create',
  ],
  scale: [
    'list-scaling-policies',
    'read-scaling-policy',
    'read-job-scaling',
    'scale-job',
    'read-job',
    'submit-recommendation',
  ],
}

const NAMESPACE_IMPLIED: Implications<NamespaceCapability> = {
  'host-volume-write': [
    'host-volume-register',
    'host-volume-create',
    'host-volume-delete',
    'host-volume-read',
  ],
  'host-volume-register': ['host-volume-create', 'host-volume-read'],
  'host-volume-create': ['host-volume-read'],
}

const NODE_POOL: Shorthands<NodePoolCapability> = {
  deny: ['deny'],
  read: ['read'],
  write: ['delete', 'read', 'write'],
}

const HOST_VOLUME: Shorthands<HostVolumeCapability> = {
  deny: ['deny'],
  read: ['mount-readonly'],
  write: ['mount-readonly', 'mount-readwrite'],
}

const OPERATOR: Shorthands<OperatorCapability> = {
  deny: ['deny'],
  read: ['license-read', 'keyring-read'],
  write: ['snapshot-save', 'license-read', 'keyring-rotate', 'keyring-read', 'keyring-delete'],
}

/** A rule as written: a shorthand, capabilities, or both. */
interface ShorthandRule<C> {
  readonly policy: PolicyShorthand
  readonly capabilities: readonly C[]
}

export function namespaceCapabilities(
  rule: ShorthandRule<NamespaceCapability>,
): readonly NamespaceCapability[] {
  return expand(rule, NAMESPACE, NAMESPACE_IMPLIED)
}

export function nodePoolCapabilities(
  rule: ShorthandRule<NodePoolCapability>,
): readonly NodePoolCapability[] {
  return expand(rule, NODE_POOL, {})
}

export function hostVolumeCapabilities(
  rule: ShorthandRule<HostVolumeCapability>,
): readonly HostVolumeCapability[] {
  return expand(rule, HOST_VOLUME, {})
}

export function operatorCapabilities(
  rule: ShorthandRule<OperatorCapability>,
): readonly OperatorCapability[] {
  return expand(rule, OPERATOR, {})
}

export function variableCapabilities(
  capabilities: readonly VariableCapability[],
): readonly VariableCapability[] {
  return expand({ policy: '', capabilities }, {}, { read: ['list'] })
}

/**
 * Returns the listed capabilities, those of the shorthand, and all that they imply, each once. A
 * `deny` overrides all others.
 */
function expand<C extends string>(
  { policy, capabilities }: ShorthandRule<C>,
  shorthands: Shorthands<C>,
  implied: Implications<C>,
): readonly C[] {
  const all = new Set<C>(capabilities)
  if (policy !== '') for (const capability of shorthands[policy] ?? []) all.add(capability)
  // A Set that grows during iteration is iterated to its new end, so the result is the transitive
  // closure.
  for (const capability of all) for (const other of implied[capability] ?? []) all.add(other)
  const deny = [...all].filter((capability) => capability === 'deny')
  return deny.length > 0 ? deny : [...all]
}
