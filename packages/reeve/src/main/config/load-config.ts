import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { AgentConfig } from './agent-config.ts'
import { buildConfig } from './build-config.ts'
import type { FoundFiles } from './config-files.ts'
import type { HostFacts } from './option.ts'
import { optionEntries, type OptionName, type Settings } from './options.ts'
import type { ConfigProblem } from './problem.ts'
import { readSettings, type Reading, type Setting } from './read-settings.ts'
import {
  findStrayVariables,
  readEnvironment,
  readFlags,
  type Environment,
  type FlagValues,
} from './read-texts.ts'
import type { Resolved } from './resolved.ts'
import { findContradictions, findGaps, findRisks } from './rules.ts'

interface ConfigSources {
  readonly flags: FlagValues
  readonly environment: Environment
  /** Later ones win. */
  readonly found: FoundFiles
  readonly facts: HostFacts
}

export interface LoadedConfig {
  readonly config: AgentConfig
  /** What may run but was hardly meant. */
  readonly warnings: readonly string[]
}

/** Flags before environment before files before defaults; every problem of every source at once. */
export function loadConfig(sources: ConfigSources): Result<LoadedConfig, readonly ConfigProblem[]> {
  const { resolved, problems } = resolve(sources)
  const all = [...problems, ...findContradictions(resolved)]
  // A value that was refused may be the one that is missing.
  if (all.length === 0) all.push(...findGaps(resolved))
  if (all.length > 0) return err(all)
  const warnings = [...findRisks(resolved), ...findStrayVariables(sources.environment)]
  return ok({ config: buildConfig(resolved.settings, sources.facts), warnings })
}

interface Validation {
  readonly problems: readonly ConfigProblem[]
  /** What flags or environment still have to say before an agent can start. */
  readonly gaps: readonly ConfigProblem[]
}

/** Looks at files alone. */
export function validateFiles(found: FoundFiles, facts: HostFacts): Validation {
  const { resolved, problems } = resolve({ found, facts, flags: new Map(), environment: {} })
  const all = [...problems, ...findContradictions(resolved)]
  return { problems: all, gaps: all.length === 0 ? findGaps(resolved) : [] }
}

function resolve(sources: ConfigSources): {
  readonly resolved: Resolved
  readonly problems: readonly ConfigProblem[]
} {
  const readings = [
    ...sources.found.files.map(readSettings),
    readEnvironment(sources.environment, sources.facts),
    readFlags(sources.flags, sources.facts),
  ]
  const problems = [sources.found, ...readings].flatMap((one) => one.problems)
  return { resolved: merge(readings, sources), problems }
}

/** Readings come in rising order of precedence. */
function merge(readings: readonly Reading[], { facts }: ConfigSources): Resolved {
  const given = new Map<OptionName, Setting>()
  for (const setting of readings.flatMap((reading) => reading.settings)) {
    const lower = given.get(setting.name)
    const value =
      lower === undefined ? setting.value : setting.option.kind.merge(lower.value, setting.value)
    given.set(setting.name, { ...setting, value })
  }
  const ground = { ...facts, dev: given.get('dev')?.value === true }
  const values = optionEntries.map(([name, option]) => {
    const setting = given.get(name)
    return [name, setting === undefined ? option.byDefault.of(ground) : setting.value] as const
  })
  return {
    // Each value was read by the kind of its option, or is the option's default.
    settings: Object.fromEntries(values) as Settings,
    originOf: (name) => given.get(name)?.origin ?? { kind: 'default' },
  }
}
