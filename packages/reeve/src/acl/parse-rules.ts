import {
  HOST_VOLUME_CAPABILITIES,
  NAMESPACE_CAPABILITIES,
  NODE_POOL_CAPABILITIES,
  OPERATOR_CAPABILITIES,
  VARIABLE_CAPABILITIES,
  type HostVolumeCapability,
  type NodePoolCapability,
} from '@reeve/contract'
import { canonicalPath, type RuleAliases } from '../compat/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  type AclRules,
  hostVolumeCapabilities,
  type NamedRule,
  namespaceCapabilities,
  type NamespaceRule,
  NO_RULES,
  nodePoolCapabilities,
  operatorCapabilities,
  type OperatorRule,
  type PathRule,
  type UnlabelledRule,
  variableCapabilities,
} from './rules.ts'
import { classifyRules, parseRuleDocument, type RawRule, type RawRules } from './rule-document.ts'
import { clip, quoteClipped } from './limits.ts'

/**
 * Parses the rules of a policy. Unknown keys are rejected: ignoring a misspelt `deny` would grant
 * access. The error is the first problem found, in one line.
 */
export function parseAclRules(text: string, aliases?: RuleAliases): Result<AclRules, string> {
  if (text === '') return ok(NO_RULES)
  const document = parseRuleDocument(text)
  if (!document.ok) return err(`Failed to parse ACL Policy: ${document.error}`)
  const raw = classifyRules(document.value)
  if (!raw.ok) return raw
  if (Object.values(raw.value).every((rules) => rules.length === 0))
    return err(`Invalid policy: ${clip(text)}`)
  const problems: Problems = []
  const rules = checkRules(problems, resolveRuleAliases(raw.value, aliases))
  const [first] = problems
  return first === undefined ? ok(rules) : err(first)
}

/** Problems in the order of their detection. */
type Problems = string[]

function checkRules(problems: Problems, raw: RawRules): AclRules {
  return {
    Namespaces: listOrNull(raw.namespace.map((rule) => checkNamespace(problems, rule))),
    NodePools: listOrNull(raw.node_pool.map((rule) => checkNodePool(problems, rule))),
    HostVolumes: listOrNull(raw.host_volume.map((rule) => checkHostVolume(problems, rule))),
    Agent: checkUnlabelled(problems, 'agent', raw),
    Node: checkUnlabelled(problems, 'node', raw),
    Operator: checkOperator(problems, raw.operator),
    Quota: checkUnlabelled(problems, 'quota', raw),
    Plugin: checkUnlabelled(problems, 'plugin', raw),
  }
}

function listOrNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list
}

/** `scale` has an effect in namespace rules only, but is accepted in all rules. */
const POLICIES = ['deny', 'read', 'write', 'scale'] as const
const PLUGIN_POLICIES = ['deny', 'list', 'read', 'write'] as const

const LABEL = /^[a-zA-Z0-9*-]{1,128}$/
const NODE_POOL_LABEL = /^[a-zA-Z0-9_*-]{1,128}$/

function checkNamespace(problems: Problems, raw: RawRule): NamespaceRule {
  const { label } = raw
  if (!LABEL.test(label)) problems.push(`Invalid namespace name: ${quoteClipped(label)}`)
  const policy = checkPolicy(problems, raw.policy, {
    allowed: POLICIES,
    errorText: (wrong) => `Invalid namespace policy: "${wrong}"`,
  })
  const capabilities = checkValues(problems, raw.capabilities, {
    allowed: NAMESPACE_CAPABILITIES,
    errorText: (wrong) => `Invalid namespace capability '${wrong}': ${quoteClipped(label)}`,
  })
  return {
    Name: label,
    Policy: policy,
    Capabilities: namespaceCapabilities({ policy, capabilities }),
    Variables: checkVariables(problems, raw),
  }
}

function checkVariables(problems: Problems, { label, variables }: RawRule) {
  if (variables === undefined) return null
  if (variables.length === 0)
    problems.push(`Invalid variable policy: no variable paths in namespace ${label}`)
  return { Paths: variables.map((path) => checkPath(problems, label, path)) }
}

function checkPath(problems: Problems, namespace: string, raw: RawRule): PathRule {
  const path = raw.label
  if (path === '') problems.push(`Invalid missing variable path in namespace ${namespace}`)
  if (path.startsWith('/'))
    problems.push(
      `Invalid variable path ${quoteClipped(path)} in namespace ${namespace}: ` +
        `cannot start with a leading '/'`,
    )
  const capabilities = checkValues(problems, raw.capabilities, {
    allowed: VARIABLE_CAPABILITIES,
    errorText: (wrong) => `Invalid variable capability '${wrong}' in namespace ${namespace}`,
  })
  return { PathSpec: path, Capabilities: variableCapabilities(capabilities) }
}

function checkNodePool(problems: Problems, raw: RawRule): NamedRule<NodePoolCapability> {
  const { label } = raw
  if (!NODE_POOL_LABEL.test(label)) problems.push(`Invalid node pool name '${clip(label)}'`)
  const policy = checkPolicy(problems, raw.policy, {
    allowed: POLICIES,
    errorText: (wrong) => `Invalid node pool policy '${wrong}' for '${label}'`,
  })
  const capabilities = checkValues(problems, raw.capabilities, {
    allowed: NODE_POOL_CAPABILITIES,
    errorText: (wrong) => `Invalid node pool capability '${wrong}' for '${label}'`,
  })
  const Capabilities = nodePoolCapabilities({ policy, capabilities })
  return { Name: label, Policy: policy, Capabilities }
}

function checkHostVolume(problems: Problems, raw: RawRule): NamedRule<HostVolumeCapability> {
  const { label } = raw
  if (!LABEL.test(label)) problems.push(`Invalid host volume name: ${quoteClipped(label)}`)
  const policy = checkPolicy(problems, raw.policy, {
    allowed: POLICIES,
    errorText: (wrong) => `Invalid host volume policy: "${wrong}"`,
  })
  const capabilities = checkValues(problems, raw.capabilities, {
    allowed: HOST_VOLUME_CAPABILITIES,
    errorText: (wrong) => `Invalid host volume capability '${wrong}': ${quoteClipped(label)}`,
  })
  const Capabilities = hostVolumeCapabilities({ policy, capabilities })
  return { Name: label, Policy: policy, Capabilities }
}

function checkOperator(problems: Problems, [raw]: readonly RawRule[]): OperatorRule | null {
  if (raw === undefined) return null
  const policy = checkPolicy(problems, raw.policy, {
    allowed: POLICIES,
    errorText: (wrong) => `Invalid operator policy: "${wrong}"`,
  })
  const capabilities = checkValues(problems, raw.capabilities, {
    allowed: OPERATOR_CAPABILITIES,
    errorText: (wrong) => `Invalid operator capability '${wrong}'`,
  })
  return { Policy: policy, Capabilities: operatorCapabilities({ policy, capabilities }) }
}

/** These rules consist of a shorthand only, so it is required. */
function checkUnlabelled(
  problems: Problems,
  kind: 'agent' | 'node' | 'quota' | 'plugin',
  raw: RawRules,
): UnlabelledRule | null {
  const [rule] = raw[kind]
  if (rule === undefined) return null
  const errorText = (wrong: string): string => `Invalid ${kind} policy: "${wrong}"`
  if (rule.policy === '') problems.push(errorText(''))
  const allowed = kind === 'plugin' ? PLUGIN_POLICIES : POLICIES
  return { Policy: checkPolicy(problems, rule.policy, { allowed, errorText }) }
}

/** Allowed values, and the error message for any other. */
interface AllowedValues<W extends string> {
  readonly allowed: readonly W[]
  readonly errorText: (wrong: string) => string
}

/** Parses the shorthand of a rule; empty if the rule has none. */
function checkPolicy<W extends string>(
  problems: Problems,
  text: string,
  vocabulary: AllowedValues<W>,
): W | '' {
  const [policy] = text === '' ? [] : checkValues(problems, [text], vocabulary)
  return policy ?? ''
}

function checkValues<W extends string>(
  problems: Problems,
  texts: readonly string[],
  { allowed, errorText }: AllowedValues<W>,
): readonly W[] {
  return texts.flatMap((text) => {
    const value = allowed.find((one) => one === text)
    if (value === undefined) problems.push(errorText(clip(text)))
    return value === undefined ? [] : [value]
  })
}

/** Replaces aliases of capabilities and of variable directories by Reeve's names. */
function resolveRuleAliases(raw: RawRules, aliases: RuleAliases | undefined): RawRules {
  if (aliases === undefined) return raw
  return {
    ...raw,
    namespace: raw.namespace.map((rule) => resolveRule(rule, aliases)),
    operator: raw.operator.map((rule) => resolveRule(rule, aliases)),
  }
}

function resolveRule(rule: RawRule, aliases: RuleAliases): RawRule {
  const { capabilities, variableDirectories } = aliases
  return {
    ...rule,
    capabilities: rule.capabilities.map((capability) =>
      Object.hasOwn(capabilities, capability)
        ? (capabilities[capability] ?? capability)
        : capability,
    ),
    variables: rule.variables?.map((path) => ({
      ...path,
      label: resolvePattern(variableDirectories, path.label),
    })),
  }
}

/** Unlike a path, a pattern may end right behind the directory: `service*`. */
function resolvePattern(directories: Readonly<Record<string, string>>, pattern: string): string {
  for (const alias in directories)
    if (pattern.startsWith(`${alias}*`))
      return `${directories[alias]}${pattern.slice(alias.length)}`
  return canonicalPath(directories, pattern)
}
