import type { AgentConfig } from './agent-config.ts'
import type { PlainValue } from './kind.ts'
import { optionEntries } from './options.ts'

/** A configuration as a file would hold it. */
interface PlainConfig {
  readonly [name: string]: PlainValue | PlainConfig
}

/**
 * The configuration in force, in the words of its file and without secrets. What `/v1/agent/self`
 * shows.
 */
export function redactedConfig(config: AgentConfig): PlainConfig {
  return nest(
    optionEntries.flatMap(([name, { file = [name], kind, read }]) => {
      const value = read(config)
      return value === undefined ? [] : [{ path: file, value: kind.toPlain(value) }]
    }),
  )
}

interface Leaf {
  readonly path: readonly string[]
  readonly value: PlainValue
}

function nest(leaves: readonly Leaf[]): PlainConfig {
  const below = Map.groupBy(leaves, ({ path }) => path[0] ?? '')
  return Object.fromEntries(
    [...below].map(([name, inner]) => {
      const [first] = inner
      if (first?.path.length === 1) return [name, first.value]
      return [name, nest(inner.map(({ path, value }) => ({ path: path.slice(1), value })))]
    }),
  )
}
