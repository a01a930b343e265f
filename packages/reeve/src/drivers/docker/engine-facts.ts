import { Fault } from '@reeve/kit/fault.ts'
import type { DockerPolicy } from './docker-policy.ts'
import {
  isSuccess,
  getPath,
  tryParseJson,
  errorMessageOf,
  stringAt,
  type EngineClient,
} from './engine.ts'

/** Timeout of the probe, after which the engine is unhealthy. */
const PROBE_TIMEOUT_MS = 5_000

/** Information about an engine that responded. */
export interface EngineInfo {
  /** The names of its runtimes. */
  readonly runtimes: readonly string[]
  readonly networkAccess: NetworkAccess
  /** Node attributes for constraints. */
  readonly attributes: Readonly<Record<string, string>>
}

/** How containers join the network of their allocation. */
export type NetworkAccess =
  | { readonly kind: 'path' }
  | { readonly kind: 'pause' }
  | { readonly kind: 'none'; readonly problem: string }

interface ReadEngineInfoOptions {
  readonly policy: DockerPolicy
  /** Whether the node has the helper program, which pause containers run. */
  readonly hasHelper: boolean
}

export async function readEngineInfo(
  engine: EngineClient,
  { policy, hasHelper }: ReadEngineInfoOptions,
): Promise<EngineInfo> {
  const version = await getFromEngine(engine, '/version')
  const info = await getFromEngine(engine, '/info')
  const runtimes = Object.keys(getPath(info, 'Runtimes') ?? {}).toSorted()
  const networkAccess = detectNetworkAccess({ version, info, hasHelper })
  const attributes = {
    'driver.docker': '1',
    'driver.docker.version': stringAt(version, 'Version'),
    'driver.docker.os_type': stringAt(info, 'OSType'),
    'driver.docker.privileged.enabled': String(policy.allowPrivileged),
    'driver.docker.volumes.enabled': String(policy.allowVolumes),
    'driver.docker.runtimes': runtimes.join(','),
    'driver.docker.allocation_network': networkAccess.kind,
    ...(networkAccess.kind === 'none'
      ? { 'driver.docker.allocation_network.problem': networkAccess.problem }
      : {}),
    ...(await readBridgeAttributes(engine)),
  }
  return { runtimes, networkAccess, attributes }
}

/** Podman joins network namespaces by path; other engines only those of containers. */
export function detectNetworkAccess({
  version,
  info,
  hasHelper,
}: {
  readonly version: unknown
  readonly info: unknown
  readonly hasHelper: boolean
}): NetworkAccess {
  if (JSON.stringify(getPath(version, 'Components') ?? '').includes('Podman'))
    return { kind: 'path' }
  const options = JSON.stringify(getPath(info, 'SecurityOptions') ?? [])
  const userMapping = ['userns', 'rootless'].find((name) => options.includes(`name=${name}`))
  if (userMapping !== undefined) {
    const problem = `the container engine runs with ${userMapping}, where containers cannot join networks of root`
    return { kind: 'none', problem }
  }
  if (hasHelper) return { kind: 'pause' }
  const problem = 'the task helper, which pause containers run, was not built on this node'
  return { kind: 'none', problem }
}

/** Fault `engine` for anything but success. */
export async function getFromEngine(engine: EngineClient, path: string): Promise<unknown> {
  const signal = AbortSignal.timeout(PROBE_TIMEOUT_MS)
  const response = await engine.call({ method: 'GET', path, signal })
  if (!isSuccess(response)) throw new Fault('engine', errorMessageOf(response))
  return tryParseJson(response.body)
}

/** Address of the default bridge network. */
async function readBridgeAttributes(
  engine: EngineClient,
): Promise<Readonly<Record<string, string>>> {
  const network = await getFromEngine(engine, '/networks/bridge').catch(() => undefined)
  const configs = getPath(network, 'IPAM', 'Config')
  const gateway = Array.isArray(configs) ? stringAt(configs[0], 'Gateway') : ''
  return gateway === '' ? {} : { 'driver.docker.bridge_ip': gateway }
}
