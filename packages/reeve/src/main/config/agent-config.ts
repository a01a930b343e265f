import { inspect } from 'node:util'
import type { DockerSettings, EngineTls } from '../../drivers/index.ts'
import type { ToolName, ToolSource } from '../../infrastructure/index.ts'
import type { TlsVersion } from '../../tls/index.ts'

/**
 * The effective configuration of an agent, merged from flags, environment, files and defaults.
 * `options.ts` defines the source of each value.
 */
export interface AgentConfig {
  /** Development mode: server and node in one process, on loopback only. */
  readonly dev: boolean
  readonly region: string
  readonly datacenter: string
  /** Name of the agent as a server and as a node. */
  readonly name: string
  /** An absolute path. */
  readonly dataDirectory: string
  /** Whether the directory is temporary and removed when the agent stops. */
  readonly isDataTemporary: boolean
  /** The IP address or host name that the HTTP port listens on. */
  readonly bind: string
  readonly ports: {
    /** 0 selects any free port. */
    readonly http: number
  }
  readonly advertise: AdvertisedAddress
  readonly server: ServerConfig
  readonly client: ClientConfig
  readonly acl: { readonly enabled: boolean }
  readonly tls: TlsConfig
  readonly log: LogConfig
  readonly eventLog: EventLogConfig
  readonly audit: AuditConfig
  readonly backup: BackupConfig
  readonly infrastructure: InfrastructureConfig
  readonly tracing: TracingConfig
  readonly http: HttpConfig
  /** Whether clients, job files and tasks may use alternative names. */
  readonly compatibility: boolean
  readonly limits: LimitsConfig
}

/** The address at which others reach this agent. */
export interface AdvertisedAddress {
  readonly host: string
  /** Undefined means the bound port. */
  readonly httpPort: number | undefined
}

interface ServerConfig {
  readonly enabled: boolean
  /** The token that nodes need to join; if undefined, the server creates one at its first start. */
  readonly joinToken: Secret | undefined
  readonly admission: AdmissionConfig
  /**
   * URL of the PostgreSQL database with the state; undefined means that the state is in the data
   * directory.
   */
  readonly database: Secret | undefined
  /** Time limit of a commit to the database. */
  readonly commitTimeoutMs: number
  /** The secret that the servers with a shared database have in common. */
  readonly clusterKey: Secret | undefined
  /** Keys that open what was sealed with them while the cluster key is rotated, and afterwards. */
  readonly previousClusterKeys: readonly Secret[]
  readonly presence: HeartbeatConfig
  readonly regions: RegionsConfig
}

/** Admission of unknown nodes. */
interface AdmissionConfig {
  readonly allowsSharedToken: boolean
  /** 0 means unlimited, here and below. */
  readonly newNodesPerMinuteMax: number
  readonly newNodesPerAddressMax: number
}

/** Other regions, and the name of the authoritative one. */
interface RegionsConfig {
  /** Server URLs by region; may include this region. */
  readonly others: Readonly<Record<string, readonly string[]>>
  /** Undefined means this region. */
  readonly authoritative: string | undefined
  /** The token of this region's own requests to other regions. */
  readonly replicationToken: Secret | undefined
}

/** Heartbeat intervals and time limits. */
interface HeartbeatConfig {
  readonly heartbeatMsMin: number
  readonly heartbeatsPerSecondMax: number
  readonly graceMs: number
  /** Time limit for the first heartbeats after a server has started. */
  readonly failoverTtlMs: number
}

interface ClientConfig {
  readonly enabled: boolean
  /** `host:port` of the servers to connect to. Empty if the server is in the same process. */
  readonly servers: readonly string[]
  readonly nodePool: string
  readonly nodeClass: string
  readonly meta: Readonly<Record<string, string>>
  /**
   * The join token of an unknown node. Undefined means the one configured for servers, or that of
   * the server in the same process.
   */
  readonly joinToken: Secret | undefined
  /** Whether authorized callers may run commands in tasks. */
  readonly remoteExec: boolean
  /** Whether tasks may run as processes without isolation. */
  readonly rawExec: boolean
  readonly exec: ExecConfig
  readonly docker: DockerConfig
  readonly reserved: ReservedConfig
  /** Host directories that jobs may mount, by name. */
  readonly hostVolumes: Readonly<Record<string, HostVolumeConfig>>
  /** Undefined means a subdirectory of the data directory. */
  readonly volumesDirectory: string | undefined
  readonly volumePluginDirectory: string | undefined
  readonly artifacts: ArtifactConfig
  /** Whether the secrets of tasks are kept in memory only, if the agent is allowed to mount. */
  readonly secretsInMemory: boolean
  readonly killTimeoutMsMax: number
  readonly bridge: BridgeConfig
  readonly cni: CniConfig
  readonly gc: GcConfig
}

/** Settings of the exec driver. */
interface ExecConfig {
  readonly enabled: boolean
  /** Capabilities that tasks may request; `all` allows any. */
  readonly allowCaps: readonly string[]
  readonly denyUsers: readonly string[]
  readonly denyGroups: readonly string[]
  /** Groups that a task may use even if its user is not a member; `all` allows any. */
  readonly allowGroups: readonly string[]
  /** User of tasks that do not set one. */
  readonly defaultUser: string
  readonly allowHostNamespaces: boolean
  /** Whether CPU shares are a hard limit instead of a weight. */
  readonly isCpuHard: boolean
  readonly pidsMax: number
  /** Host paths visible in tasks, mapped to paths in the task. Empty means the default set. */
  readonly chrootEnv: Readonly<Record<string, string>>
}

/** Settings of the docker driver. */
interface DockerConfig {
  readonly enabled: boolean
  /** `unix://` and an absolute path, or `tcp://host:port`. */
  readonly endpoint: string
  /** TLS settings for an engine reached over TCP. */
  readonly tls: EngineTls
  readonly authFile: string | undefined
  readonly settings: DockerSettings
  readonly policy: {
    readonly allowPrivileged: boolean
    readonly allowVolumes: boolean
    readonly allowHostNamespaces: boolean
    readonly allowCaps: readonly string[]
    readonly pidsMax: number
  }
  /** Garbage collection of unused images and containers. */
  readonly gc: {
    readonly removesImages: boolean
    readonly imageDelayMs: number
    readonly removesContainers: boolean
    readonly dangling: {
      readonly isEnabled: boolean
      readonly isDryRun: boolean
      readonly periodMs: number
      readonly graceMs: number
    }
  }
}

export interface HostVolumeConfig {
  /** Absolute. */
  readonly path: string
  readonly readOnly: boolean
}

/** The operator's rules for artifacts. */
interface ArtifactConfig {
  /** Whether artifacts may be files of the machine. */
  readonly allowsFiles: boolean
  /** Whether loopback, link-local and unspecified addresses may be reached. */
  readonly allowsLocal: boolean
  readonly timeoutMs: number
  /** Files, directories and links of one artifact. */
  readonly entriesMax: number
}

/** Settings of networks in mode `bridge`. */
interface BridgeConfig {
  readonly name: string
  /** Such as `172.30.64.0/20`. */
  readonly subnet: string
  /** Whether an allocation can reach itself through its own host ports. */
  readonly hairpin: boolean
}

/** Networks of the modes `cni/NAME`. Absolute paths. */
interface CniConfig {
  readonly configDirectory: string
  readonly pluginDirectories: readonly string[]
}

/** Garbage collection of ended allocations. */
interface GcConfig {
  readonly intervalMs: number
  readonly diskPercent: number
  readonly inodePercent: number
  readonly allocationsMax: number
  readonly parallelDestroys: number
}

/** Resources that are not available to tasks. */
interface ReservedConfig {
  readonly cpuMHz: number
  readonly memoryMB: number
  readonly diskMB: number
  /** Such as `22,80,8500-8600`; empty reserves none. */
  readonly ports: string
}

/** TLS settings. */
interface TlsConfig {
  /** Whether the port uses HTTPS and nodes connect to servers with it. */
  readonly http: boolean
  /** Whether servers and nodes authenticate each other with certificates. */
  readonly rpc: boolean
  /** Absolute paths. */
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly verifyServerHostname: boolean
  /** Whether every client needs a certificate. */
  readonly verifyHttpsClient: boolean
  readonly minVersion: TlsVersion
  /** Cipher names of the TLS library. */
  readonly cipherSuites: readonly string[]
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
type LogLevel = (typeof LOG_LEVELS)[number]

export interface LogConfig {
  readonly level: LogLevel
  readonly json: boolean
}

/** How much of the log of commits is kept for the event stream. */
interface EventLogConfig {
  readonly ageMsMax: number
  readonly commitsMax: number
}

/** How much of the audit log is kept. */
interface AuditConfig {
  readonly ageMsMax: number
  readonly recordsMax: number
}

/** Periodic backups of the state. */
export interface BackupConfig {
  /** Undefined disables backups. */
  readonly intervalMs: number | undefined
  readonly keep: number
  readonly directory: string | undefined
  readonly s3: {
    /** `https://host/bucket/prefix`. */
    readonly address: string | undefined
    readonly region: string
    readonly accessKey: string | undefined
    readonly secretKey: Secret | undefined
  }
}

/** How infrastructure runs are planned and applied. */
export interface InfrastructureConfig {
  readonly tool: ToolName
  readonly source: ToolSource
  /** URL template of an archive, with `{version}`, `{os}` and `{arch}`. */
  readonly artifact: string | undefined
  /** Image name template, with `{version}`. */
  readonly image: string | undefined
  readonly version: string | undefined
  readonly cpuMHz: number
  readonly memoryMB: number
  readonly planMsMax: number
  readonly applyMsMax: number
  readonly applyKillMs: number
}

/** Tracing settings. */
export interface TracingConfig {
  /** The URL that spans are sent to; undefined disables tracing. */
  readonly endpoint: string | undefined
  /** Percentage of sampled requests among those without a trace context. */
  readonly samplePercent: number
  readonly authorization: Secret | undefined
}

/** Limits of the load that one client may cause. */
interface LimitsConfig {
  /** Requests per second and token; 0 means unlimited. */
  readonly requestsPerSecond: number
  /** Requests per second and address without a valid token; 0 means unlimited. */
  readonly anonymousRequestsPerSecond: number
  readonly blockingQueriesPerToken: number
  readonly eventStreamsPerToken: number
  readonly execSessionsPerToken: number
  /** Open streams of logs and files per token. */
  readonly logStreamsPerToken: number
  readonly connectionsMax: number
}

interface HttpConfig {
  /** Allowed CORS origins; `*` allows any. */
  readonly corsOrigins: readonly string[]
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Only documented members of the runtime's HTTP classes are used. */
  readonly isPlain: boolean
  /** Requests per second and user on `/api/v2`; 0 means unlimited. */
  readonly requestsPerSecondMax: number
  /** Scheme and host of generated links; if empty, those of the request. */
  readonly externalUrl: string
}

export const REDACTED = '<redacted>'

/**
 * A string that cannot appear in logs, messages or responses by accident; only `reveal` returns it.
 */
export class Secret {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  reveal(): string {
    return this.#text
  }

  toJSON(): string {
    return REDACTED
  }

  toString(): string {
    return REDACTED
  }

  [inspect.custom](): string {
    return REDACTED
  }
}
