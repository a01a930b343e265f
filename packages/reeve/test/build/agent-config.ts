import { assert } from '@reeve/kit/fault.ts'
import type { Result } from '@reeve/kit/result.ts'
import type { AgentConfig } from '../../src/main/config/agent-config.ts'
import { loadConfig, type LoadedConfig } from '../../src/main/config/load-config.ts'
import type { HostInfo } from '../../src/main/config/option.ts'
import type { OptionName } from '../../src/main/config/options.ts'
import type { ConfigProblem } from '../../src/main/config/problem.ts'
import type { Environment } from '../../src/main/config/read-flags-and-env.ts'

export const hostFacts: HostInfo = {
  hostName: 'host1',
  address: '10.0.0.9',
  workingDirectory: '/here',
  temporaryDirectory: '/tmp/reeve-dev-1',
  isErrorTerminal: true,
}

export interface GivenSources {
  readonly flags?: Readonly<Partial<Record<OptionName, true | string | readonly string[]>>>
  readonly environment?: Environment
  /** Text by path, the later ones winning. */
  readonly files?: Readonly<Record<string, string>>
  readonly facts?: Partial<HostInfo>
}

/** What these sources give together, on a machine with `hostFacts`. */
export function loadSources(given: GivenSources): Result<LoadedConfig, readonly ConfigProblem[]> {
  const { flags = {}, environment = {}, files = {}, facts = {} } = given
  return loadConfig({
    // Object.entries forgets that the keys are option names; the type of `flags` says so.
    flags: new Map(Object.entries(flags) as [OptionName, true | string | readonly string[]][]),
    environment,
    configFiles: {
      files: Object.entries(files).map(([path, text]) => ({ path, source: text })),
      problems: [],
    },
    host: { ...hostFacts, ...facts },
  })
}

/** A valid configuration; by default the one of `--dev`. */
export function anAgentConfig(given: GivenSources = { flags: { dev: true } }): AgentConfig {
  const loaded = loadSources(given)
  assert(loaded.ok, `a valid configuration: ${loaded.ok ? '' : loaded.error[0]?.message}`)
  return loaded.value.config
}
