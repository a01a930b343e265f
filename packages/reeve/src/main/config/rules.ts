import { isLoopback } from './address.ts'
import { findBackupProblem } from './server-options.ts'
import { dockerEndpointProblem } from './docker-options.ts'
import { infrastructureProblem } from './infrastructure-options.ts'
import { options } from './options.ts'
import { settingName, type ConfigProblem } from './problem.ts'
import type { ResolvedSettings } from './resolved.ts'
import { findTlsProblem } from './tls-rules.ts'

/** Finds settings that are valid alone but conflict with each other. */
export function findConflicts({ settings, originOf }: ResolvedSettings): readonly ConfigProblem[] {
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
export function findMissingSettings({ settings }: ResolvedSettings): readonly ConfigProblem[] {
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
export function findWarnings({ settings }: ResolvedSettings): readonly string[] {
  const { acl, server, bind, corsOrigins } = settings
  if (!server || acl) return []
  const risks: string[] = []
  if (!isLoopback(bind))
    risks.push(`ACLs are off and the API listens on ${bind}: whoever reaches it may do everything.`)
  if (corsOrigins.includes('*'))
    risks.push(
      'ACLs are off and pages of any origin may read answers: any website may do everything.',
    )
  return risks
}
