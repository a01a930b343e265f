import { Fault } from '@reeve/kit/fault.ts'
import type { DockerPolicy } from './docker-policy.ts'
import { isSuccess, member, parsed, refusalText, textAt, type Engine } from './engine.ts'

/** An engine that cannot say within this whether it is there does not count as healthy. */
const PROBE_MS_MAX = 5_000

/** What the driver knows of an engine that answered. */
export interface EngineFacts {
  /** The names of its runtimes. */
  readonly runtimes: readonly string[]
  readonly networkAccess: NetworkAccess
  /** Of the node, for constraints of jobs. */
  readonly attributes: Readonly<Record<string, string>>
}

/** How containers get into the network of their allocation. */
export type NetworkAccess =
  | { readonly kind: 'path' }
  | { readonly kind: 'pause' }
  | { readonly kind: 'none'; readonly problem: string }

interface ReadFactsOptions {
  readonly policy: DockerPolicy
  /** Whether the node has the program that pause containers run. */
  readonly hasHelper: boolean
}

export async function readEngineFacts(
  engine: Engine,
  { policy, hasHelper }: ReadFactsOptions,
): Promise<EngineFacts> {
  const version = await askEngine(engine, '/version')
  const info = await askEngine(engine, '/info')
  const runtimes = Object.keys(member(info, 'Runtimes') ?? {}).toSorted()
  const networkAccess = networkAccessOf({ version, info, hasHelper })
  const attributes = {
    'driver.docker': '1',
    'driver.docker.version': textAt(version, 'Version'),
    'driver.docker.os_type': textAt(info, 'OSType'),
    'driver.docker.privileged.enabled': String(policy.allowPrivileged),
    'driver.docker.volumes.enabled': String(policy.allowVolumes),
    'driver.docker.runtimes': runtimes.join(','),
    'driver.docker.allocation_network': networkAccess.kind,
    ...(networkAccess.kind === 'none'
      ? { 'driver.docker.allocation_network.problem': networkAccess.problem }
      : {}),
    ...(await bridgeAddress(engine)),
  }
  return { runtimes, networkAccess, attributes }
}

/** Podman joins network namespaces by their path; other engines know containers alone. */
export function networkAccessOf({
  version,
  info,
  hasHelper,
}: {
  readonly version: unknown
  readonly info: unknown
  readonly hasHelper: boolean
}): NetworkAccess {
  if (JSON.stringify(member(version, 'Components') ?? '').includes('Podman'))
    return { kind: 'path' }
  const options = JSON.stringify(member(info, 'SecurityOptions') ?? [])
  const mapped = ['userns', 'rootless'].find((name) => options.includes(`name=${name}`))
  if (mapped !== undefined) {
    const problem = `the container engine runs with ${mapped}, where containers cannot join networks of root`
    return { kind: 'none', problem }
  }
  if (hasHelper) return { kind: 'pause' }
  const problem = 'the task helper, which pause containers run, was not built on this node'
  return { kind: 'none', problem }
}

/** Fault `engine` for anything but success. */
export async function askEngine(engine: Engine, path: string): Promise<unknown> {
  const signal = AbortSignal.timeout(PROBE_MS_MAX)
  const answer = await engine.call({ method: 'GET', path, signal })
  if (!isSuccess(answer)) throw new Fault('engine', refusalText(answer))
  return parsed(answer.text)
}

/** Of the network that containers are in when they ask for none. */
async function bridgeAddress(engine: Engine): Promise<Readonly<Record<string, string>>> {
  const network = await askEngine(engine, '/networks/bridge').catch(() => undefined)
  const configs = member(network, 'IPAM', 'Config')
  const gateway = Array.isArray(configs) ? textAt(configs[0], 'Gateway') : ''
  return gateway === '' ? {} : { 'driver.docker.bridge_ip': gateway }
}
