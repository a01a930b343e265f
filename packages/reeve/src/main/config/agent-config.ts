import type { DockerSettings, EngineTls } from '../../drivers/index.ts'
import type { ToolName, ToolSource } from '../../infrastructure/index.ts'
import type { TlsVersion } from '../../tls/index.ts'
import type { Secret } from './secret.ts'

/**
 * How an agent shall run: flags, environment, files and defaults put together. `options.ts` says
 * where each value comes from.
 */
export interface AgentConfig {
  /** Server and node in one process, loopback only, for trying things out. */
  readonly dev: boolean
  readonly region: string
  readonly datacenter: string
  /** What this agent is called as a server and as a node. */
  readonly name: string
  /** An absolute path. */
  readonly dataDirectory: string
  /** The directory was made for this run and is removed after it. */
  readonly isDataTemporary: boolean
  /** The IP address, or the name of one, that the HTTP port is opened on. */
  readonly bind: string
  readonly ports: {
    /** 0 takes any free one. */
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
  /** Whether clients, job files and tasks may use other names for what is ours. */
  readonly compatibility: boolean
  readonly limits: LimitsConfig
}

/** Where others reach this agent. */
export interface AdvertisedAddress {
  readonly host: string
  /** The port that was really taken when undefined. */
  readonly httpPort: number | undefined
}

interface ServerConfig {
  readonly enabled: boolean
  /** What a node must show to be let in; undefined lets the server make one at its first start. */
  readonly joinToken: Secret | undefined
  readonly admission: AdmissionConfig
  /** The URL of the PostgreSQL that keeps the state; undefined keeps it in the data directory. */
  readonly database: Secret | undefined
  /** How long a commit may wait for it. */
  readonly commitMsMax: number
  /** What servers that share a database share besides. */
  readonly clusterKey: Secret | undefined
  readonly presence: PresenceConfig
  readonly regions: RegionsConfig
}

/** How nodes are admitted that the servers do not know. */
interface AdmissionConfig {
  readonly allowsSharedToken: boolean
  /** 0 is any number; so below. */
  readonly newNodesPerMinuteMax: number
  readonly newNodesPerAddressMax: number
}

/** Other regions, and which of all is the authoritative one. */
export interface RegionsConfig {
  /** `http://host:port` or `https://…` of servers, by region; may hold the own one too. */
  readonly others: Readonly<Record<string, readonly string[]>>
  /** The own one when undefined. */
  readonly authoritative: string | undefined
  /** What this region shows to others when it asks by itself. */
  readonly replicationToken: Secret | undefined
}

/** How often nodes speak, and how long they may be silent. */
interface PresenceConfig {
  readonly heartbeatMsMin: number
  readonly heartbeatsPerSecondMax: number
  readonly graceMs: number
  /** After a start of the server, when nobody has been heard yet. */
  readonly returnMs: number
}

interface ClientConfig {
  readonly enabled: boolean
  /** `host:port` of servers to dial. Empty where the server is in the same process. */
  readonly servers: readonly string[]
  readonly nodePool: string
  readonly nodeClass: string
  readonly meta: Readonly<Record<string, string>>
  /** What the node shows while the servers do not know it; that of the servers when undefined. */
  readonly joinToken: Secret | undefined
  /** Whether callers with the right to may run commands inside tasks. */
  readonly remoteExec: boolean
  /** Whether tasks may run as plain processes of this machine. */
  readonly rawExec: boolean
  readonly exec: ExecConfig
  readonly docker: DockerConfig
  readonly reserved: ReservedConfig
  /** Directories of the machine that jobs may mount, by name. */
  readonly hostVolumes: Readonly<Record<string, HostVolumeConfig>>
  /** Undefined: below the data directory. */
  readonly volumesDirectory: string | undefined
  readonly volumePluginDirectory: string | undefined
  readonly artifacts: ArtifactConfig
  /** Whether the secrets of tasks stay off the disk, where the agent may mount. */
  readonly secretsInMemory: boolean
  readonly killTimeoutMsMax: number
  readonly bridge: BridgeConfig
  readonly cni: CniConfig
  readonly garbage: GarbageConfig
}

/** How isolated tasks may run on the node. */
interface ExecConfig {
  readonly enabled: boolean
  /** Capabilities that tasks may ask for; `all` is any. */
  readonly allowCaps: readonly string[]
  readonly denyUsers: readonly string[]
  readonly denyGroups: readonly string[]
  /** Groups that a task may choose though its user does not have them; `all` is any. */
  readonly allowGroups: readonly string[]
  /** Who a task is that does not say. */
  readonly defaultUser: string
  readonly allowHostNamespaces: boolean
  /** Processor time is a limit and not only a weight. */
  readonly isCpuHard: boolean
  readonly pidsMax: number
  /** What tasks see of the machine, by its path there; empty: the usual. */
  readonly chrootEnv: Readonly<Record<string, string>>
}

/** How tasks may run in containers on the node. */
interface DockerConfig {
  readonly enabled: boolean
  /** `unix://` and an absolute path, or `tcp://host:port`. */
  readonly endpoint: string
  /** Of an engine behind TCP. */
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
  /** What is removed from the engine when no task needs it. */
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

/** Networks of the mode `bridge`. */
interface BridgeConfig {
  readonly name: string
  /** Such as `172.30.64.0/20`. */
  readonly subnet: string
  /** Whether an allocation reaches itself through its own ports of the machine. */
  readonly hairpin: boolean
}

/** Networks of the modes `cni/NAME`. Absolute paths. */
interface CniConfig {
  readonly configDirectory: string
  readonly pluginDirectories: readonly string[]
}

/** When what ended allocations left is removed. */
interface GarbageConfig {
  readonly lookMs: number
  readonly diskPercent: number
  readonly inodePercent: number
  readonly allocations: number
  readonly atOnce: number
}

/** What the node keeps for itself and its operating system. */
interface ReservedConfig {
  readonly cpuMHz: number
  readonly memoryMB: number
  readonly diskMB: number
  /** Such as `22,80,8500-8600`; empty reserves none. */
  readonly ports: string
}

/** How connections are encrypted, and who proves to be whom. */
export interface TlsConfig {
  /** The port speaks HTTPS, and servers are dialled with it. */
  readonly http: boolean
  /** Servers and nodes show each other certificates. */
  readonly rpc: boolean
  /** Absolute paths. */
  readonly caFile: string | undefined
  readonly certFile: string | undefined
  readonly keyFile: string | undefined
  readonly verifyServerHostname: boolean
  /** Every caller needs a certificate. */
  readonly verifyHttpsClient: boolean
  readonly minVersion: TlsVersion
  /** Names of the TLS library. */
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

/** Backups of the state on a timer. */
export interface BackupConfig {
  /** Undefined: none are made. */
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
  /** Address of an archive, with `{version}`, `{os}` and `{arch}`. */
  readonly artifact: string | undefined
  /** Name of an image, with `{version}`. */
  readonly image: string | undefined
  readonly version: string | undefined
  readonly cpuMHz: number
  readonly memoryMB: number
  readonly planMsMax: number
  readonly applyMsMax: number
  readonly applyKillMs: number
}

/** Traces of what requests cause. */
export interface TracingConfig {
  /** The URL that spans are sent to; undefined: nothing is traced. */
  readonly endpoint: string | undefined
  /** Of requests that come without a trace. */
  readonly samplePercent: number
  readonly authorization: Secret | undefined
}

/** How much of a server one client may take. */
export interface LimitsConfig {
  /** Each second, of one token; 0 is any number. */
  readonly requestsPerSecond: number
  /** Each second, of one address without a valid token; 0 is any number. */
  readonly anonymousRequestsPerSecond: number
  readonly blockingQueriesPerToken: number
  readonly eventStreamsPerToken: number
  readonly execSessionsPerToken: number
  /** Logs and files that are read or followed. */
  readonly logStreamsPerToken: number
  readonly connectionsMax: number
}

interface HttpConfig {
  /** Origins whose pages may read answers; `*` is any. */
  readonly corsOrigins: readonly string[]
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Only documented members of the runtime's HTTP classes are used. */
  readonly isPlain: boolean
  /** On `/api/v2`, for each user; 0 is any number. */
  readonly requestsPerSecondMax: number
  /** Scheme and host that links begin with; empty: those of the request. */
  readonly externalUrl: string
}
