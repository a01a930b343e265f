import { canonicalPath, type RuleAliases } from '../compat/index.ts'
import type { RawRule, RawRules } from './raw-rules.ts'

/** Replaces aliases of capabilities and of variable directories by Reeve's names. */
export function resolveRuleAliases(raw: RawRules, aliases: RuleAliases | undefined): RawRules {
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
