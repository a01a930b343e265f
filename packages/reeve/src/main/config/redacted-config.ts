import type { AgentConfig } from './agent-config.ts'
import type { JsonSettingValue } from './kind.ts'
import { optionEntries } from './options.ts'

/** A configuration in the structure of a file. */
interface RedactedConfig {
  readonly [name: string]: JsonSettingValue | RedactedConfig
}

/**
 * The effective configuration in the structure of a file, without secrets, for `/v1/agent/self`.
 */
export function redactedConfig(config: AgentConfig): RedactedConfig {
  return buildTree(
    optionEntries.flatMap(([name, { file = [name], kind, read }]) => {
      const value = read(config)
      return value === undefined ? [] : [{ path: file, value: kind.toJson(value) }]
    }),
  )
}

interface Leaf {
  readonly path: readonly string[]
  readonly value: JsonSettingValue
}

function buildTree(leaves: readonly Leaf[]): RedactedConfig {
  const below = Map.groupBy(leaves, ({ path }) => path[0] ?? '')
  return Object.fromEntries(
    [...below].map(([name, inner]) => {
      const [first] = inner
      if (first?.path.length === 1) return [name, first.value]
      return [name, buildTree(inner.map(({ path, value }) => ({ path: path.slice(1), value })))]
    }),
  )
}
