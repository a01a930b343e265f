import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { basename, join } from 'node:path'
import type { ConnectionOptions } from 'node:tls'
import {
  BridgeNetwork,
  toBridgeSettings,
  isReachable,
  CniNetworks,
  diskStorage,
  fingerprint,
  NodeAgent,
  NodeNetworks,
  type NodeSettings,
  websocketDialer,
  type TaskDriver,
} from '../agent/index.ts'
import { aliasesOf, type TaskAliases } from '../compat/index.ts'
import type { NodeServers } from '../http/index.ts'
import {
  CGROUP_PARENT,
  DockerDriver,
  type DockerDriverOptions,
  ExecDriver,
  NativeSupervisor,
  RawExecDriver,
} from '../drivers/index.ts'
import type { Tracer } from '@reeve/kit/trace.ts'
import type { TlsCredentials } from '../tls/index.ts'
import { formatAddress, HTTP_PORT, parseAddress } from './config/address.ts'
import type { AgentConfig } from './config/agent-config.ts'
import { tcpEndpoint } from './config/docker-options.ts'
import { infrastructureAttributes } from './infrastructure-tools.ts'
import { installation } from './installation.ts'
import type { FollowableLog, Logger } from './log.ts'
import { systemClock, systemClock as clock, systemIds, systemRandom } from './system.ts'

interface NodeOptions {
  readonly log: FollowableLog
  readonly version: string
  /** HTTP address of the server in this process, if any. */
  readonly httpAddress: string | undefined
  readonly joinToken: string | undefined
  /** Undefined without TLS. */
  readonly tls: TlsCredentials | undefined
  /** Undefined without tracing. */
  readonly tracer?: Tracer | undefined
}

/** Creates the node of this machine. It uses the channel even for a server in the same process. */
export function createNode(config: AgentConfig, options: NodeOptions): CreatedNode {
  const { client } = config
  const { tls } = options
  const usesTls = tls !== undefined
  const dataDir = join(config.dataDirectory, 'client')
  const localServers = options.httpAddress === undefined ? [] : [options.httpAddress]
  const configured = client.joinToken ?? config.server.joinToken
  const joinToken = configured?.reveal() ?? options.joinToken
  const isRoot = process.getuid?.() === 0
  const aliases = aliasesOf(config.compatibility).task
  const tlsOf = (server: string): ConnectionOptions => dialOptions(tls, { server, localServers })
  const servers = new DialedServers(
    client.servers.length > 0
      ? client.servers.map((server) => serverUrl(server, usesTls))
      : localServers,
    { usesTls, canDial: (server) => isReachable(server, tlsOf) },
  )
  const node = new NodeAgent({
    settings: nodeSettings(config, options, { aliases, isRoot }),
    storage: diskStorage(dataDir, { usesTmpfsForSecrets: client.secretsInMemory && isRoot }),
    drivers: createDrivers(client, dataDir),
    clock: systemClock,
    random: systemRandom,
    ids: systemIds,
    log: options.log,
    feed: options.log.feed,
    dial: websocketDialer(() => servers.urls, tlsOf),
    probe: async () => {
      const found = await fingerprint({
        dataDir,
        version: options.version,
        address: config.advertise.host,
        cniDirectories: client.cni.pluginDirectories,
      })
      const tools = await infrastructureAttributes()
      const Attributes = withAliasAttributes({ ...found.Attributes, ...tools }, aliases)
      return { ...found, Attributes }
    },
    ...(joinToken === undefined ? {} : { joinToken }),
    allowsExec: client.remoteExec,
    artifacts: client.artifacts,
    killTimeoutMsMax: client.killTimeoutMsMax,
    garbage: client.gc,
    networks: createNetworks(client, { dataDir, log: options.log }),
    tracer: options.tracer,
    volumes: {
      volumesDir: client.volumesDirectory ?? join(dataDir, 'volumes'),
      pluginDir: client.volumePluginDirectory ?? join(dataDir, 'volume-plugins'),
      dataDirectory: config.dataDirectory,
    },
  })
  return { node, servers }
}

interface CreatedNode {
  readonly node: NodeAgent
  readonly servers: NodeServers
}

function nodeSettings(
  { name, region, datacenter, client }: AgentConfig,
  { httpAddress, tls }: NodeOptions,
  { aliases, isRoot }: { readonly aliases: TaskAliases; readonly isRoot: boolean },
): NodeSettings {
  return {
    Name: name,
    Region: region,
    Datacenter: datacenter,
    NodePool: client.nodePool,
    NodeClass: client.nodeClass,
    HTTPAddr: httpAddress === undefined ? '' : new URL(httpAddress).host,
    TLSEnabled: tls !== undefined,
    Meta: client.meta,
    ...(isRoot ? { CgroupParent: CGROUP_PARENT } : {}),
    HostVolumes: hostVolumes(client.hostVolumes),
    aliases,
    ReservedResources: {
      Cpu: { CpuShares: client.reserved.cpuMHz, ReservedCpuCores: null },
      Memory: { MemoryMB: client.reserved.memoryMB },
      Disk: { DiskMB: client.reserved.diskMB },
      Networks: { ReservedHostPorts: client.reserved.ports },
    },
  }
}

function hostVolumes(volumes: AgentConfig['client']['hostVolumes']): NodeSettings['HostVolumes'] {
  const named = Object.entries(volumes).map(([name, { path, readOnly }]) => {
    return [name, { Name: name, Path: path, ReadOnly: readOnly, ID: '' }] as const
  })
  return named.length === 0 ? null : Object.fromEntries(named)
}

/** Adds the alternative names of attributes, which constraints may use. */
function withAliasAttributes(
  attributes: Readonly<Record<string, string>>,
  { nodeAttributes }: TaskAliases,
): Readonly<Record<string, string>> {
  const others = Object.entries(nodeAttributes).flatMap(([own, other]) => {
    const value = attributes[own]
    return value === undefined ? [] : [[other, value] as const]
  })
  return { ...attributes, ...Object.fromEntries(others) }
}

function createNetworks(
  { bridge, cni }: AgentConfig['client'],
  { dataDir, log }: { readonly dataDir: string; readonly log: Logger },
): NodeNetworks {
  const stateFile = join(dataDir, 'agent', 'networks.json')
  const recordsDir = join(dataDir, 'agent', 'cni')
  return new NodeNetworks({
    bridge: new BridgeNetwork({ stateFile, settings: toBridgeSettings(bridge), log }),
    cni: new CniNetworks({ settings: cni, recordsDir, log }),
  })
}

/**
 * Connection options. A server in this process has the agent's own certificate; other servers must
 * present a server certificate.
 */
function dialOptions(
  tls: TlsCredentials | undefined,
  { server, localServers }: { readonly server: string; readonly localServers: readonly string[] },
): ConnectionOptions {
  if (tls === undefined) return {}
  return localServers.includes(server) ? tls.selfDialOptions() : tls.dialOptions(tls.region)
}

/**
 * Creates the drivers that the configuration enables. Each driver detects whether it works on this
 * machine.
 */
function createDrivers(
  { rawExec, exec, docker }: AgentConfig['client'],
  dataDir: string,
): readonly TaskDriver[] {
  const program = taskHelperPath(dataDir)
  const stateDir = join(dataDir, 'drivers')
  const helper =
    program === undefined ? undefined : new NativeSupervisor({ program, stateDir, clock })
  const drivers: TaskDriver[] = []
  if (rawExec)
    drivers.push(new RawExecDriver({ clock, ...(helper === undefined ? {} : { helper }) }))
  if (exec.enabled && helper !== undefined) {
    const chrootEnv = Object.keys(exec.chrootEnv).length === 0 ? undefined : exec.chrootEnv
    drivers.push(new ExecDriver({ clock, helper, stateDir, policy: { ...exec, chrootEnv } }))
  }
  if (docker.enabled) {
    drivers.push(
      new DockerDriver({ clock, stateDir, helper: program, ...dockerDriverOptions(docker) }),
    )
  }
  return drivers
}

function dockerDriverOptions(
  config: AgentConfig['client']['docker'],
): Omit<DockerDriverOptions, 'clock' | 'stateDir' | 'helper'> {
  const { policy, settings, gc, authFile, endpoint, tls } = config
  const tcp = tcpEndpoint(endpoint)
  const hasTls = Object.values(tls).some((file) => file !== undefined)
  return {
    policy,
    settings,
    gc,
    ...(authFile === undefined ? {} : { authFile }),
    ...(tcp === undefined
      ? { socketPath: endpoint.slice('unix://'.length) }
      : { tcp: { ...tcp, tls: hasTls ? tls : undefined } }),
  }
}

/**
 * Installs the task helper of this node in the data directory; undefined if none was built. A
 * running agent keeps its launcher and sessions when the installation is replaced.
 */
export function taskHelperPath(
  dataDir: string,
  link: string = installation.helper,
): string | undefined {
  if (!existsSync(link)) return undefined
  // The real path contains the hash of the sources, so a newer build has another name.
  const built = realpathSync(link)
  try {
    return copied(built, join(dataDir, 'bin'))
  } catch {
    // The disk is full or mounted noexec: use the original file.
    return built
  }
}

function copied(built: string, dir: string): string {
  const name = basename(built)
  const path = join(dir, name)
  mkdirSync(dir, { recursive: true, mode: 0o755 })
  // Renamed into place: a running executable cannot be overwritten, but it keeps running without a
  // name.
  copyFileSync(built, `${path}.new`)
  renameSync(`${path}.new`, path)
  for (const other of readdirSync(dir)) if (other !== name) rmSync(join(dir, other))
  accessSync(path, constants.X_OK)
  return path
}

interface ServerDialing {
  readonly usesTls: boolean
  canDial(url: string): Promise<boolean>
}

/** The servers that a node connects to. A request can replace them until the agent restarts. */
export class DialedServers implements NodeServers {
  readonly #dialling: ServerDialing
  #urls: readonly string[]

  constructor(urls: readonly string[], dialling: ServerDialing) {
    this.#urls = urls
    this.#dialling = dialling
  }

  get urls(): readonly string[] {
    return this.#urls
  }

  list(): readonly string[] {
    // Not `URL.host`, which omits the default ports 80 and 443.
    return this.#urls.map((url) => url.slice(url.indexOf('://') + '://'.length))
  }

  /**
   * Rejects addresses with a scheme, as the configuration does: `http://` would make a node send
   * its secret without TLS.
   */
  async set(addresses: readonly string[]): Promise<string | undefined> {
    const urls: string[] = []
    for (const address of addresses) {
      const parsed = parseAddress(address)
      if (parsed === undefined) return invalidAddress(address)
      const { host, port = HTTP_PORT } = parsed
      urls.push(serverUrl(formatAddress(host, port), this.#dialling.usesTls))
    }
    const answers = await Promise.all(urls.map((url) => this.#dialling.canDial(url)))
    if (!answers.includes(true))
      return `none of these servers can be reached: ${addresses.join(', ')}`
    this.#urls = urls
    return undefined
  }
}

function invalidAddress(address: string): string {
  return `invalid server address ${JSON.stringify(address)}: use host:port without a scheme`
}

/** `address` is `host:port`. */
function serverUrl(address: string, usesTls: boolean): string {
  return `${usesTls ? 'https' : 'http'}://${address}`
}
