import { backupConfig } from './server-options.ts'
import { infrastructureConfig } from './infrastructure-options.ts'
import { isAnyAddress } from './address.ts'
import type { AdvertisedAddress, AgentConfig } from './agent-config.ts'
import type { HostInfo } from './option.ts'
import type { Settings } from './options.ts'
import { tracingConfig } from './tls-options.ts'

/** Builds the agent configuration from the settings. */
export function buildConfig(settings: Settings, facts: HostInfo): AgentConfig {
  return {
    dev: settings.dev,
    region: settings.region,
    datacenter: settings.datacenter,
    name: settings.name,
    dataDirectory: settings.dataDirectory ?? facts.temporaryDirectory,
    isDataTemporary: settings.dataDirectory === undefined,
    bind: settings.bind,
    ports: { http: settings.httpPort },
    advertise: advertisedAddress(settings, facts),
    server: {
      enabled: settings.server,
      joinToken: settings.joinToken,
      admission: {
        allowsSharedToken: settings.sharedJoinToken,
        newNodesPerMinuteMax: settings.newNodesPerMinute,
        newNodesPerAddressMax: settings.newNodesPerAddress,
      },
      database: settings.database,
      commitTimeoutMs: settings.commitTimeout,
      clusterKey: settings.clusterKey,
      previousClusterKeys: settings.previousClusterKeys,
      presence: {
        heartbeatMsMin: settings.heartbeatTtlMin,
        heartbeatsPerSecondMax: settings.heartbeatsPerSecond,
        graceMs: settings.heartbeatGrace,
        failoverTtlMs: settings.heartbeatFailover,
      },
      regions: {
        others: settings.otherRegions,
        authoritative: settings.authoritativeRegion,
        replicationToken: settings.replicationToken,
      },
    },
    client: {
      enabled: settings.client,
      servers: settings.servers,
      nodePool: settings.nodePool,
      nodeClass: settings.nodeClass,
      meta: settings.meta,
      joinToken: settings.nodeJoinToken,
      remoteExec: !settings.disableRemoteExec,
      rawExec: settings.rawExec,
      ...driverConfig(settings),
      reserved: {
        cpuMHz: settings.reservedCpu,
        memoryMB: settings.reservedMemory,
        diskMB: settings.reservedDisk,
        ports: settings.reservedPorts,
      },
      ...nodeConfig(settings),
    },
    acl: { enabled: settings.acl },
    tls: tlsConfig(settings),
    compatibility: settings.compatibility,
    log: { level: settings.logLevel, json: settings.logJson },
    eventLog: { ageMsMax: settings.eventLogAge, commitsMax: settings.eventLogCommits },
    audit: { ageMsMax: settings.auditAge, recordsMax: settings.auditRecords },
    backup: backupConfig(settings),
    infrastructure: infrastructureConfig(settings),
    tracing: tracingConfig(settings),
    http: {
      corsOrigins: settings.corsOrigins,
      responseHeaders: settings.responseHeaders,
      isPlain: settings.plainHttp,
      requestsPerSecondMax: settings.requestsPerSecond,
      externalUrl: settings.externalUrl,
    },
    limits: {
      requestsPerSecond: settings.limitRequests,
      anonymousRequestsPerSecond: settings.limitAnonymousRequests,
      blockingQueriesPerToken: settings.limitBlockingQueries,
      eventStreamsPerToken: settings.limitEventStreams,
      execSessionsPerToken: settings.limitExecSessions,
      logStreamsPerToken: settings.limitLogStreams,
      connectionsMax: settings.limitConnections,
    },
  }
}

function tlsConfig(settings: Settings): AgentConfig['tls'] {
  return {
    http: settings.tlsHttp,
    rpc: settings.tlsRpc,
    caFile: settings.tlsCaFile,
    certFile: settings.tlsCertFile,
    keyFile: settings.tlsKeyFile,
    verifyServerHostname: settings.tlsVerifyServerHostname,
    verifyHttpsClient: settings.tlsVerifyHttpsClient,
    minVersion: settings.tlsMinVersion,
    cipherSuites: settings.tlsCipherSuites,
  }
}

function nodeConfig(settings: Settings) {
  return {
    hostVolumes: settings.hostVolumes,
    volumesDirectory: settings.volumesDirectory,
    volumePluginDirectory: settings.volumePluginDirectory,
    artifacts: {
      allowsFiles: settings.fileArtifacts,
      allowsLocal: settings.localArtifacts,
      timeoutMs: settings.artifactTimeout,
      entriesMax: settings.artifactEntries,
    },
    secretsInMemory: settings.secretsInMemory,
    killTimeoutMsMax: settings.killTimeoutMax,
    bridge: {
      name: settings.bridgeName,
      subnet: settings.bridgeSubnet,
      hairpin: settings.bridgeHairpin,
    },
    cni: {
      configDirectory: settings.cniConfigDirectory,
      pluginDirectories: settings.cniPath.split(':'),
    },
    gc: {
      intervalMs: settings.garbageInterval,
      diskPercent: settings.garbageDisk,
      inodePercent: settings.garbageInodes,
      allocationsMax: settings.garbageAllocations,
      parallelDestroys: settings.garbageAtOnce,
    },
  }
}

function driverConfig(settings: Settings): Pick<AgentConfig['client'], 'exec' | 'docker'> {
  return {
    exec: {
      enabled: settings.exec,
      allowCaps: settings.execCaps,
      denyUsers: settings.execDeniedUsers,
      denyGroups: settings.execDeniedGroups,
      allowGroups: settings.execAllowedGroups,
      defaultUser: settings.execDefaultUser,
      allowHostNamespaces: settings.execHostNamespaces,
      isCpuHard: settings.execCpuHardLimit,
      pidsMax: settings.execPids,
      chrootEnv: settings.chrootEnv,
    },
    docker: {
      enabled: settings.docker,
      endpoint: settings.dockerEndpoint,
      tls: {
        caFile: settings.dockerTlsCa,
        certFile: settings.dockerTlsCert,
        keyFile: settings.dockerTlsKey,
      },
      authFile: settings.dockerAuth,
      settings: dockerSettings(settings),
      policy: {
        allowPrivileged: settings.dockerPrivileged,
        allowVolumes: settings.dockerVolumes,
        allowHostNamespaces: settings.dockerHostNamespaces,
        allowCaps: settings.dockerCaps,
        pidsMax: settings.dockerPids,
      },
      gc: {
        removesImages: settings.dockerGcImage,
        imageDelayMs: settings.dockerGcImageDelay,
        removesContainers: settings.dockerGcContainer,
        dangling: {
          isEnabled: settings.dockerDangling,
          isDryRun: settings.dockerDanglingDryRun,
          periodMs: settings.dockerDanglingPeriod,
          graceMs: settings.dockerDanglingGrace,
        },
      },
    },
  }
}

function dockerSettings(settings: Settings): AgentConfig['client']['docker']['settings'] {
  const type = settings.dockerLogDriver
  return {
    pullActivityMs: settings.dockerPullActivity,
    authHelper: settings.dockerAuthHelper ?? '',
    extraLabels: settings.dockerExtraLabels,
    logging: type === undefined ? undefined : { type, config: settings.dockerLogOptions },
    collectsLogs: !settings.dockerNoLogs,
    allowHostNetwork: settings.dockerHostNetwork,
    allowRuntimes: settings.dockerRuntimes,
    nvidiaRuntime: settings.dockerNvidiaRuntime,
    noNewPrivileges: settings.dockerNoNewPrivileges,
    // The setting accepts only these values.
    selinuxLabel: (settings.dockerSelinuxLabel ?? '') as '' | 'z' | 'Z',
    infraImage: settings.dockerInfraImage ?? '',
    infraPullTimeoutMs: settings.dockerInfraPull,
  }
}

function advertisedAddress(settings: Settings, facts: HostInfo): AdvertisedAddress {
  const { advertise, bind } = settings
  if (advertise !== undefined) return { host: advertise.host, httpPort: advertise.port }
  const host = isAnyAddress(bind) ? (facts.address ?? '127.0.0.1') : bind
  return { host, httpPort: undefined }
}
