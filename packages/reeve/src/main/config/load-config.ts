import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { AgentConfig } from './agent-config.ts'
import { buildConfig } from './build-config.ts'
import type { ConfigFiles } from './config-files.ts'
import type { HostInfo } from './option.ts'
import { optionEntries, type OptionName, type Settings } from './options.ts'
import type { ConfigProblem } from './problem.ts'
import { readSettings, type SourceSettings, type Setting } from './read-config-file.ts'
import {
  findMisspeltVariables,
  readEnvironment,
  readFlags,
  type Environment,
  type FlagValues,
} from './read-flags-and-env.ts'
import type { ResolvedSettings } from './resolved.ts'
import { findConflicts, findMissingSettings, findWarnings } from './rules.ts'

interface ConfigSources {
  readonly flags: FlagValues
  readonly environment: Environment
  /** Later files take precedence. */
  readonly configFiles: ConfigFiles
  readonly host: HostInfo
}

export interface LoadedConfig {
  readonly config: AgentConfig
  /** Warnings about risky settings. */
  readonly warnings: readonly string[]
}

/**
 * Loads the configuration: flags override environment, files and defaults, in this order. Returns
 * all problems of all sources at once.
 */
export function loadConfig(sources: ConfigSources): Result<LoadedConfig, readonly ConfigProblem[]> {
  const { resolved, problems } = resolve(sources)
  const all = [...problems, ...findConflicts(resolved)]
  // Only without other problems, because a rejected value may be the missing one.
  if (all.length === 0) all.push(...findMissingSettings(resolved))
  if (all.length > 0) return err(all)
  const warnings = [...findWarnings(resolved), ...findMisspeltVariables(sources.environment)]
  return ok({ config: buildConfig(resolved.settings, sources.host), warnings })
}

interface FileValidation {
  readonly problems: readonly ConfigProblem[]
  /** Missing settings that flags or the environment have to supply. */
  readonly gaps: readonly ConfigProblem[]
}

/** Checks configuration files without other sources. */
export function validateFiles(found: ConfigFiles, facts: HostInfo): FileValidation {
  const { resolved, problems } = resolve({
    configFiles: found,
    host: facts,
    flags: new Map(),
    environment: {},
  })
  const all = [...problems, ...findConflicts(resolved)]
  return { problems: all, gaps: all.length === 0 ? findMissingSettings(resolved) : [] }
}

function resolve(sources: ConfigSources): {
  readonly resolved: ResolvedSettings
  readonly problems: readonly ConfigProblem[]
} {
  const readings = [
    ...sources.configFiles.files.map(readSettings),
    readEnvironment(sources.environment, sources.host),
    readFlags(sources.flags, sources.host),
  ]
  const problems = [sources.configFiles, ...readings].flatMap((one) => one.problems)
  return { resolved: mergeSources(readings, sources), problems }
}

/** Merges the readings, given in ascending precedence. */
function mergeSources(
  readings: readonly SourceSettings[],
  { host }: ConfigSources,
): ResolvedSettings {
  const settingsByName = new Map<OptionName, Setting>()
  for (const setting of readings.flatMap((reading) => reading.settings)) {
    const lower = settingsByName.get(setting.name)
    const value =
      lower === undefined ? setting.value : setting.option.kind.merge(lower.value, setting.value)
    settingsByName.set(setting.name, { ...setting, value })
  }
  const defaultContext = { ...host, dev: settingsByName.get('dev')?.value === true }
  const values = optionEntries.map(([name, option]) => {
    const setting = settingsByName.get(name)
    return [
      name,
      setting === undefined ? option.byDefault.of(defaultContext) : setting.value,
    ] as const
  })
  return {
    // Each value was parsed by the kind of its option, or is the default.
    settings: Object.fromEntries(values) as Settings,
    originOf: (name) => settingsByName.get(name)?.origin ?? { kind: 'default' },
  }
}
