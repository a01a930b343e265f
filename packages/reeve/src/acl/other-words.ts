import { ownPath, type RuleAliases } from '../compat/index.ts'
import type { RawRule, RawRules } from './raw-rules.ts'

/** The same rules with our words for capabilities and directories of variables. */
export function inOwnWords(raw: RawRules, aliases: RuleAliases | undefined): RawRules {
  if (aliases === undefined) return raw
  return {
    ...raw,
    namespace: raw.namespace.map((rule) => ownRule(rule, aliases)),
    operator: raw.operator.map((rule) => ownRule(rule, aliases)),
  }
}

function ownRule(rule: RawRule, aliases: RuleAliases): RawRule {
  const { capabilities, variableDirectories } = aliases
  return {
    ...rule,
    capabilities: rule.capabilities.map((word) =>
      Object.hasOwn(capabilities, word) ? (capabilities[word] ?? word) : word,
    ),
    variables: rule.variables?.map((path) => ({
      ...path,
      label: ownPattern(variableDirectories, path.label),
    })),
  }
}

/** A pattern may also begin with the name of a directory: `service*`. */
function ownPattern(directories: Readonly<Record<string, string>>, pattern: string): string {
  for (const other in directories)
    if (pattern.startsWith(`${other}*`))
      return `${directories[other]}${pattern.slice(other.length)}`
  return ownPath(directories, pattern)
}
