import { err, ok, type Result } from '@reeve/kit/result.ts'
import { isLoopback } from './address.ts'
import type { AgentConfig } from './agent-config.ts'
import { buildConfig } from './build-config.ts'
import type { ConfigFiles } from './config-files.ts'
import { dockerEndpointProblem } from './docker-options.ts'
import { infrastructureProblem } from './infrastructure-options.ts'
import type { HostInfo } from './option.ts'
import { optionEntries, type OptionName, options, type Settings } from './options.ts'
import { type ConfigProblem, settingName } from './problem.ts'
import { readSettings, type SourceSettings, type Setting } from './read-config-file.ts'
import {
  findMisspeltVariables,
  readEnvironment,
  readFlags,
  type Environment,
  type FlagValues,
} from './read-flags-and-env.ts'
import type { ResolvedSettings } from './resolved.ts'
import { findBackupProblem } from './server-options.ts'

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

/** Finds settings that are valid alone but conflict with each other. */
function findConflicts({ settings, originOf }: ResolvedSettings): readonly ConfigProblem[] {
  const { dev, bind, database } = settings
  if (dev && database !== undefined) {
    const origin = originOf('database')
    const message =
      `${settingName(options.database, origin)} is given, but --dev keeps its state to itself. ` +
      'Leave one of them out; --server --client is the same without --dev.'
    return [{ origin, message }]
  }
  const backup = findBackupProblem(settings)
  if (backup !== undefined) return [{ origin: originOf('backupInterval'), message: backup }]
  const tool = infrastructureProblem(settings)
  if (tool !== undefined) return [{ origin: originOf('infrastructureSource'), message: tool }]
  const regions = findRegionConflict({ settings, originOf })
  if (regions !== undefined) return [regions]
  const docker = findDockerProblem({ settings, originOf })
  if (docker !== undefined) return [docker]
  const tls = findTlsProblem({ settings, originOf })
  if (tls !== undefined) return [tls]
  if (!dev || isLoopback(bind)) return []
  // `--dev` runs any job without authentication.
  const origin = originOf('bind')
  const message =
    `${settingName(options.bind, origin)} is ${bind}, but --dev listens on loopback only: it runs ` +
    'whatever it is sent. Leave one of them out; --server --client is the same without --dev.'
  return [{ origin, message }]
}

/** The authoritative region must have an address to replicate from. */
function findRegionConflict({ settings, originOf }: ResolvedSettings): ConfigProblem | undefined {
  const { region, authoritativeRegion = region, otherRegions, server } = settings
  if (!server || authoritativeRegion === region) return undefined
  if (Object.hasOwn(otherRegions, authoritativeRegion)) return undefined
  const origin = originOf('authoritativeRegion')
  const message =
    `${settingName(options.authoritativeRegion, origin)} is ${authoritativeRegion}, but nothing says ` +
    `where its servers are. Add server { region "${authoritativeRegion}" { addresses = [...] } } ` +
    'to a file.'
  return { origin, message }
}

/** Finds an unprotected TCP engine, or TLS settings without TCP. */
function findDockerProblem({ settings, originOf }: ResolvedSettings): ConfigProblem | undefined {
  const { client, docker, dockerEndpoint, dockerTlsCa, dockerTlsCert, dockerTlsKey } = settings
  const hasTls = [dockerTlsCa, dockerTlsCert, dockerTlsKey].some((file) => file !== undefined)
  const endpointProblem =
    client && docker ? dockerEndpointProblem(dockerEndpoint, hasTls) : undefined
  if (endpointProblem !== undefined) {
    const origin = originOf('dockerEndpoint')
    return { origin, message: `${settingName(options.dockerEndpoint, origin)} ${endpointProblem}` }
  }
  if (settings.dockerLogDriver !== undefined) return undefined
  if (Object.keys(settings.dockerLogOptions).length === 0) return undefined
  const origin = originOf('dockerLogOptions')
  const subject = settingName(options.dockerLogOptions, origin)
  return {
    origin,
    message: `${subject} is given without the type of the log driver. Add logging.type.`,
  }
}

/** Finds missing required settings. */
function findMissingSettings({ settings }: ResolvedSettings): readonly ConfigProblem[] {
  const { dev, server, client, servers, dataDirectory } = settings
  const gaps: string[] = []
  if (!server && !client)
    gaps.push(
      'The agent would be neither server nor node. Start it with --dev to try it out, or with ' +
        '--server, --client or both (in a file: server { enabled = true }).',
    )
  if (client && !server && servers.length === 0)
    gaps.push(
      'A node without a server in its process needs servers to dial: --join ADDR, REEVE_SERVERS, ' +
        'or client { servers = ["10.0.0.1"] } in a file.',
    )
  if (!dev && dataDirectory === undefined)
    gaps.push(
      'The data needs a place: --data-dir DIR, REEVE_DATA_DIR, or data_dir = "/var/lib/reeve" in ' +
        'a file.',
    )
  return gaps.map((message) => ({ origin: { kind: 'default' }, message }))
}

/** Finds risky settings, as warnings. */
function findWarnings({ settings }: ResolvedSettings): readonly string[] {
  const { acl, server, bind, corsOrigins } = settings
  if (!server || acl) return []
  const risks: string[] = []
  if (!isLoopback(bind))
    risks.push(
      `ACLs are off and the API listens on ${bind}: anybody who can connect has full access.`,
    )
  if (corsOrigins.includes('*'))
    risks.push(
      'ACLs are off and pages of any origin may read answers: any website may do everything.',
    )
  return risks
}

/** Finds conflicting or incomplete `tls` settings. */
function findTlsProblem(resolved: ResolvedSettings): ConfigProblem | undefined {
  const { server, tlsHttp, tlsRpc, tlsVerifyHttpsClient } = resolved.settings
  const { tlsCaFile, tlsCertFile, tlsKeyFile } = resolved.settings
  const hasPair = tlsCertFile !== undefined && tlsKeyFile !== undefined
  if ((tlsCertFile === undefined) !== (tlsKeyFile === undefined))
    return configProblem(
      resolved,
      tlsCertFile === undefined ? 'tlsKeyFile' : 'tlsCertFile',
      'is given, but tls.cert_file and tls.key_file go together. Add the other one.',
    )
  if (tlsRpc && server && !tlsHttp)
    return configProblem(
      resolved,
      'tlsRpc',
      'is on and tls.http is off, but APIs, nodes and servers share one port. Turn tls.http on too.',
    )
  if (tlsRpc && (tlsCaFile === undefined || !hasPair))
    return configProblem(
      resolved,
      'tlsRpc',
      'is on, so tls.ca_file, tls.cert_file and tls.key_file are needed. Add what is missing.',
    )
  if (tlsHttp && server && !hasPair)
    return configProblem(
      resolved,
      'tlsHttp',
      'is on, so a server needs tls.cert_file and tls.key_file. Add them.',
    )
  if (tlsVerifyHttpsClient && (!tlsHttp || tlsCaFile === undefined))
    return configProblem(
      resolved,
      'tlsVerifyHttpsClient',
      'is on, which needs tls.http and the authority of those certificates in tls.ca_file.',
    )
  return undefined
}

function configProblem(
  { originOf }: ResolvedSettings,
  name: OptionName,
  predicate: string,
): ConfigProblem {
  const origin = originOf(name)
  return { origin, message: `${settingName(options[name], origin)} ${predicate}` }
}
