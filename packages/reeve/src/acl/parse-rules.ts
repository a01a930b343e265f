import {
  HOST_VOLUME_CAPABILITIES,
  NAMESPACE_CAPABILITIES,
  NODE_POOL_CAPABILITIES,
  OPERATOR_CAPABILITIES,
  VARIABLE_CAPABILITIES,
  type HostVolumeCapability,
  type NodePoolCapability,
} from '@reeve/contract'
import type { RuleAliases } from '../compat/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  hostVolumeCapabilities,
  namespaceCapabilities,
  nodePoolCapabilities,
  operatorCapabilities,
  variableCapabilities,
} from './capabilities.ts'
import { resolveRuleAliases } from './rule-aliases.ts'
import { sortRules, type RawRule, type RawRules } from './raw-rules.ts'
import { readRuleText } from './rule-text.ts'
import {
  NO_RULES,
  type AclRules,
  type BareRule,
  type LabelledRule,
  type NamespaceRule,
  type OperatorRule,
  type PathRule,
} from './rules.ts'
import { clipped, shown } from './shown.ts'

/**
 * Reads the rules of a policy, strictly: what is not understood is refused, because a misspelt deny
 * that is ignored would grant. The error is one line, the first that was found.
 */
export function parseAclRules(text: string, aliases?: RuleAliases): Result<AclRules, string> {
  if (text === '') return ok(NO_RULES)
  const document = readRuleText(text)
  if (!document.ok) return err(`Failed to parse ACL Policy: ${document.error}`)
  const raw = sortRules(document.value)
  if (!raw.ok) return raw
  if (Object.values(raw.value).every((rules) => rules.length === 0))
    return err(`Invalid policy: ${clipped(text)}`)
  const problems: Problems = []
  const rules = checkRules(problems, resolveRuleAliases(raw.value, aliases))
  const [first] = problems
  return first === undefined ? ok(rules) : err(first)
}

/** Findings in the order they were made. */
type Problems = string[]

function checkRules(problems: Problems, raw: RawRules): AclRules {
  return {
    Namespaces: listOrNull(raw.namespace.map((rule) => checkNamespace(problems, rule))),
    NodePools: listOrNull(raw.node_pool.map((rule) => checkNodePool(problems, rule))),
    HostVolumes: listOrNull(raw.host_volume.map((rule) => checkHostVolume(problems, rule))),
    Agent: checkBare(problems, 'agent', raw),
    Node: checkBare(problems, 'node', raw),
    Operator: checkOperator(problems, raw.operator),
    Quota: checkBare(problems, 'quota', raw),
    Plugin: checkBare(problems, 'plugin', raw),
  }
}

function listOrNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list
}

/** `scale` means something in namespaces only, but is accepted everywhere. */
const POLICIES = ['deny', 'read', 'write', 'scale'] as const
const PLUGIN_POLICIES = ['deny', 'list', 'read', 'write'] as const

const LABEL = /^[a-zA-Z0-9*-]{1,128}$/
const NODE_POOL_LABEL = /^[a-zA-Z0-9_*-]{1,128}$/

function checkNamespace(problems: Problems, raw: RawRule): NamespaceRule {
  const { label } = raw
  if (!LABEL.test(label)) problems.push(`Invalid namespace name: ${shown(label)}`)
  const policy = checkPolicy(problems, raw.policy, {
    known: POLICIES,
    complaint: (wrong) => `Invalid namespace policy: "${wrong}"`,
  })
  const capabilities = checkWords(problems, raw.capabilities, {
    known: NAMESPACE_CAPABILITIES,
    complaint: (wrong) => `Invalid namespace capability '${wrong}': ${shown(label)}`,
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
      `Invalid variable path ${shown(path)} in namespace ${namespace}: ` +
        `cannot start with a leading '/'`,
    )
  const capabilities = checkWords(problems, raw.capabilities, {
    known: VARIABLE_CAPABILITIES,
    complaint: (wrong) => `Invalid variable capability '${wrong}' in namespace ${namespace}`,
  })
  return { PathSpec: path, Capabilities: variableCapabilities(capabilities) }
}

function checkNodePool(problems: Problems, raw: RawRule): LabelledRule<NodePoolCapability> {
  const { label } = raw
  if (!NODE_POOL_LABEL.test(label)) problems.push(`Invalid node pool name '${clipped(label)}'`)
  const policy = checkPolicy(problems, raw.policy, {
    known: POLICIES,
    complaint: (wrong) => `Invalid node pool policy '${wrong}' for '${label}'`,
  })
  const capabilities = checkWords(problems, raw.capabilities, {
    known: NODE_POOL_CAPABILITIES,
    complaint: (wrong) => `Invalid node pool capability '${wrong}' for '${label}'`,
  })
  const Capabilities = nodePoolCapabilities({ policy, capabilities })
  return { Name: label, Policy: policy, Capabilities }
}

function checkHostVolume(problems: Problems, raw: RawRule): LabelledRule<HostVolumeCapability> {
  const { label } = raw
  if (!LABEL.test(label)) problems.push(`Invalid host volume name: ${shown(label)}`)
  const policy = checkPolicy(problems, raw.policy, {
    known: POLICIES,
    complaint: (wrong) => `Invalid host volume policy: "${wrong}"`,
  })
  const capabilities = checkWords(problems, raw.capabilities, {
    known: HOST_VOLUME_CAPABILITIES,
    complaint: (wrong) => `Invalid host volume capability '${wrong}': ${shown(label)}`,
  })
  const Capabilities = hostVolumeCapabilities({ policy, capabilities })
  return { Name: label, Policy: policy, Capabilities }
}

function checkOperator(problems: Problems, [raw]: readonly RawRule[]): OperatorRule | null {
  if (raw === undefined) return null
  const policy = checkPolicy(problems, raw.policy, {
    known: POLICIES,
    complaint: (wrong) => `Invalid operator policy: "${wrong}"`,
  })
  const capabilities = checkWords(problems, raw.capabilities, {
    known: OPERATOR_CAPABILITIES,
    complaint: (wrong) => `Invalid operator capability '${wrong}'`,
  })
  return { Policy: policy, Capabilities: operatorCapabilities({ policy, capabilities }) }
}

/** These rules are a shorthand and nothing else, so they need one. */
function checkBare(
  problems: Problems,
  kind: 'agent' | 'node' | 'quota' | 'plugin',
  raw: RawRules,
): BareRule | null {
  const [rule] = raw[kind]
  if (rule === undefined) return null
  const complaint = (wrong: string): string => `Invalid ${kind} policy: "${wrong}"`
  if (rule.policy === '') problems.push(complaint(''))
  const known = kind === 'plugin' ? PLUGIN_POLICIES : POLICIES
  return { Policy: checkPolicy(problems, rule.policy, { known, complaint }) }
}

/** The words that may stand in a place, and what is said about another. */
interface Vocabulary<W extends string> {
  readonly known: readonly W[]
  readonly complaint: (wrong: string) => string
}

/** The policy of a rule; empty when it has none. */
function checkPolicy<W extends string>(
  problems: Problems,
  text: string,
  vocabulary: Vocabulary<W>,
): W | '' {
  const [policy] = text === '' ? [] : checkWords(problems, [text], vocabulary)
  return policy ?? ''
}

function checkWords<W extends string>(
  problems: Problems,
  texts: readonly string[],
  { known, complaint }: Vocabulary<W>,
): readonly W[] {
  return texts.flatMap((text) => {
    const word = known.find((one) => one === text)
    if (word === undefined) problems.push(complaint(clipped(text)))
    return word === undefined ? [] : [word]
  })
}
