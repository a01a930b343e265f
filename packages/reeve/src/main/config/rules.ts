import { isLoopback } from './address.ts'
import { backupProblem } from './backup-options.ts'
import { dockerEndpointProblem } from './docker-options.ts'
import { infrastructureProblem } from './infrastructure-options.ts'
import { options } from './options.ts'
import { subjectOf, type ConfigProblem } from './problem.ts'
import type { Resolved } from './resolved.ts'
import { findTlsProblem } from './tls-rules.ts'

/** Settings that are right alone and wrong together. */
export function findContradictions({ settings, originOf }: Resolved): readonly ConfigProblem[] {
  const { dev, bind, database } = settings
  if (dev && database !== undefined) {
    const origin = originOf('database')
    const message =
      `${subjectOf(options.database, origin)} is given, but --dev keeps its state to itself. ` +
      'Leave one of them out; --server --client is the same without --dev.'
    return [{ origin, message }]
  }
  const backup = backupProblem(settings)
  if (backup !== undefined) return [{ origin: originOf('backupInterval'), message: backup }]
  const tool = infrastructureProblem(settings)
  if (tool !== undefined) return [{ origin: originOf('infrastructureSource'), message: tool }]
  const regions = findRegionContradiction({ settings, originOf })
  if (regions !== undefined) return [regions]
  const docker = findDockerProblem({ settings, originOf })
  if (docker !== undefined) return [docker]
  const tls = findTlsProblem({ settings, originOf })
  if (tls !== undefined) return [tls]
  if (!dev || isLoopback(bind)) return []
  // `--dev` runs whatever it is sent, without asking who sends it.
  const origin = originOf('bind')
  const message =
    `${subjectOf(options.bind, origin)} is ${bind}, but --dev listens on loopback only: it runs ` +
    'whatever it is sent. Leave one of them out; --server --client is the same without --dev.'
  return [{ origin, message }]
}

/** A region that nobody can be asked in cannot be copied from. */
function findRegionContradiction({ settings, originOf }: Resolved): ConfigProblem | undefined {
  const { region, authoritativeRegion = region, otherRegions, server } = settings
  if (!server || authoritativeRegion === region) return undefined
  if (Object.hasOwn(otherRegions, authoritativeRegion)) return undefined
  const origin = originOf('authoritativeRegion')
  const message =
    `${subjectOf(options.authoritativeRegion, origin)} is ${authoritativeRegion}, but nothing says ` +
    `where its servers are. Add server { region "${authoritativeRegion}" { addresses = [...] } } ` +
    'to a file.'
  return { origin, message }
}

/** An engine that anybody can reach, or settings of one that has none of them. */
function findDockerProblem({ settings, originOf }: Resolved): ConfigProblem | undefined {
  const { client, docker, dockerEndpoint, dockerTlsCa, dockerTlsCert, dockerTlsKey } = settings
  const hasTls = [dockerTlsCa, dockerTlsCert, dockerTlsKey].some((file) => file !== undefined)
  const says = client && docker ? dockerEndpointProblem(dockerEndpoint, hasTls) : undefined
  if (says !== undefined) {
    const origin = originOf('dockerEndpoint')
    return { origin, message: `${subjectOf(options.dockerEndpoint, origin)} ${says}` }
  }
  if (settings.dockerLogDriver !== undefined) return undefined
  if (Object.keys(settings.dockerLogOptions).length === 0) return undefined
  const origin = originOf('dockerLogOptions')
  const subject = subjectOf(options.dockerLogOptions, origin)
  return {
    origin,
    message: `${subject} is given without the type of the log driver. Add logging.type.`,
  }
}

/** What an agent cannot start without. */
export function findGaps({ settings }: Resolved): readonly ConfigProblem[] {
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

/** What may run but was hardly meant. */
export function findRisks({ settings }: Resolved): readonly string[] {
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
