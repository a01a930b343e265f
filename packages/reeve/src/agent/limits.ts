/** Every limit and timeout of the node agent. */
export const AGENT_LIMITS = {
  /** Upper limit of `kill_timeout`, from kill signal to SIGKILL. */
  killTimeoutMaxMs: 30_000,
  /** Failed kill attempts after which the task is marked dead with the error. */
  killAttemptsMax: 5,
  killRetryInitialDelayMs: 1_000,
  /** How long to wait for the exit status after all processes of the task have ended. */
  exitStatusTimeoutMs: 10_000,
  /** Debounce of saving changes that do not have to be durable immediately. */
  saveDebounceMs: 200,
  /** Interval at which a task waiting for its schedule reads the clock, which may be set. */
  scheduleCheckIntervalMs: 60_000,
  /** Maximum length of a string in a task event; longer ones are truncated. */
  eventTextCharsMax: 4_096,
  /** Connections of one port that are relayed at once from IPv6; each takes two sockets. */
  relayConnectionsMax: 1_024,
  /** Starts under way at once: each is a fork of the agent's process. */
  startsInFlightMax: 8,
  /** Linux takes at most 128 KiB in one argument or variable; more could never be started. */
  interpolatedCharsMax: 128 * 1024,
  /** All arguments and variables of one task together; Linux takes 2 MiB. */
  interpolatedTotalCharsMax: 2 * 1024 * 1024,
  /** Entries of `env` and `meta`, and variables of rendered files; real tasks have some hundred. */
  environmentVariablesMax: 10_000,
  /**
   * Characters of jobs (as JSON) that are stored or prepared in one event loop iteration: a few
   * milliseconds of work. A single job may be larger, up to 4 MiB.
   */
  loopSliceCharsMax: 256 * 1024,
  /** Depth of a driver's configuration. */
  configDepthMax: 32,
  /** Initial delay before reconnecting; it doubles up to the maximum. */
  reconnectInitialDelayMs: 250,
  reconnectMaxDelayMs: 30_000,
  /**
   * Maximum delay after an orderly stop of a server, and how long it applies: the server is usually
   * back within seconds. Not shorter, because all nodes of the cluster reconnect at once.
   */
  reconnectAfterRestartMaxDelayMs: 2_000,
  serverRestartWindowMs: 60_000,
  /** Timeout for connecting to a server, and then for its response to the hello message. */
  dialTimeoutMs: 10_000,
  /** Characters read from the response of a server that rejects the connection. */
  rejectionBodyCharsMax: 1_024,
  helloTimeoutMs: 10_000,
  /** Timeout for the acknowledgement of a status report, after which the channel is closed. */
  reportAckTimeoutMs: 30_000,
  /** Number of heartbeat intervals without a message after which the channel is closed. */
  missedHeartbeatsMax: 3,
  /** Bounds of the heartbeat interval that a server may set. */
  heartbeatIntervalMinMs: 100,
  heartbeatIntervalMaxMs: 10 * 60_000,
  /** Allocations in one status report. */
  reportedAllocationsMax: 256,
  /**
   * Received messages that are not processed yet; beyond this the channel is closed and reopened.
   */
  undeliveredMessagesMax: 1_024,
  /**
   * Initial delay before a driver is asked again to recover a task, doubling up to the maximum: an
   * engine that starts after the agent is usually available within seconds.
   */
  recoverRetryInitialDelayMs: 250,
  recoverRetryMaxDelayMs: 5_000,
  /** Interval at which drivers and networks are fingerprinted. */
  fingerprintIntervalMs: 30_000,
  /** Timeout of a driver fingerprint, after which the driver is unhealthy. */
  driverProbeTimeoutMs: 10_000,
  /** Timeout for killing orphaned tasks of one driver. */
  killOrphansTimeoutMs: 30_000,
  /** Poll interval of a followed file, in case the kernel reports no change. */
  followPollIntervalMs: 1_000,
  /** Interval of heartbeat frames in an exec session. */
  execHeartbeatIntervalMs: 10_000,
  /** How long a terminal waits for its size, which callers send immediately if at all. */
  execTerminalSizeTimeoutMs: 500,
  /** How long a command waits for a task that a restarted agent has not re-attached to yet. */
  reattachTimeoutMs: 5_000,
  reattachPollIntervalMs: 50,
  /** Bytes of output in one frame of an exec session. */
  execChunkBytesMax: 16 * 1024,
  /** Timeout for the resource usage of one task. */
  usageTimeoutMs: 5_000,
  /** Size of one file of the agent's own state; a job is at most 4 MiB (model limits). */
  stateFileBytesMax: 32 * 1024 * 1024,
  /** Downloads of one task under way at once. */
  artifactsInFlightMax: 3,
  /**
   * Fetcher processes of a node, at about 60 MB each, and those of one namespace: stalled downloads
   * of one tenant leave slots to the others.
   */
  artifactFetchersMax: 18,
  artifactFetchersPerNamespaceMax: 6,
  /** Heap of one fetcher: it streams, and holds single tar records and checksum lists. */
  artifactFetcherHeapMB: 128,
  /** How long a fetcher may take to stop before it is killed. */
  fetcherStopTimeoutMs: 5_000,
  /** Growth of disk usage after which a fetcher reports it. */
  fetcherReportBytes: 1024 ** 2,
  /** How long one artifact may take, unless `client.artifact.timeout` says otherwise. */
  artifactTimeoutMs: 30 * 60_000,
  /** Disk limit of an allocation whose group sets no size, or a larger one. */
  artifactBytesMax: 100 * 1024 ** 3,
  /** Files, directories and links of one artifact, unless `client.artifact.max_entries` differs. */
  artifactEntriesMax: 65_536,
  artifactDepthMax: 128,
  /** Characters of an error response of a bucket that are searched for the reason. */
  bucketErrorCharsMax: 4_096,
  artifactRedirectsMax: 10,
  /** Timeout for a server that sends no data. */
  artifactIdleTimeoutMs: 60_000,
  /** Limit of the unpacked data of an allocation that migrates from another node. */
  unpackedBytesMax: 100 * 1024 ** 3,
  unpackedFilesMax: 65_536,
  /** Maximum ratio of unpacked to packed size, beyond the first bytes. */
  decompressionRatioMax: 250,
  decompressionRatioExemptBytes: 64 * 1024 * 1024,
  /** Maximum length of a path inside an archive, and of a tar extension record. */
  archivePathBytesMax: 4_096,
  tarRecordBytesMax: 1024 * 1024,
  /** Interval at which a task that waits for template data reports what is missing. */
  templateMissingReportIntervalMs: 3_000,
  /** Debounce of changes, so that changes that arrive together are rendered together. */
  templateDebounceMs: 250,
  /** Size of a template's source file, and of a file that one includes. */
  templateFileBytesMax: 4 * 1024 * 1024,
  /** Maximum number of services, variables and included files of the templates of one task. */
  templateDependenciesMax: 1_000,
  /** Maximum number of renderings in a row that discover further included files. */
  templateIncludeRoundsMax: 100,
  /**
   * Wall time of rendering all templates of a task once. Few take more than some milliseconds; the
   * byte budget of the language takes a second or two of a free core.
   */
  templateRenderTimeoutMs: 5_000,
  /** Heap of a thread that renders. What the byte budget lets be built fits several times. */
  templateThreadHeapMB: 256,
  /** Threads that render: with two, one job's slow templates leave one for everybody else. */
  templateThreadsMax: 2,
  /** Idle time after which a rendering thread is stopped; each takes about 20 MB. */
  templateThreadIdleMs: 60_000,
  /** Characters passed to one rendering: copying them blocks the event loop. */
  templateInputCharsMax: 32 * 1024 * 1024,
  /** Bytes of all files that the templates of one task make; the agent holds them meanwhile. */
  templateOutputBytesMax: 32 * 1024 * 1024,
  /** Directory entries that are read, and removed, in one batch. */
  directoryBatchSize: 128,
  /**
   * Interval of measuring the disk of an allocation, and the maximum number of entries per
   * measurement.
   */
  diskCheckIntervalMs: 60_000,
  measuredDiskEntriesMax: 200_000,
  /** Defaults for the garbage collection of terminal allocations. */
  gcIntervalMs: 60_000,
  gcDiskUsagePercent: 80,
  gcInodeUsagePercent: 70,
  gcAllocationsMax: 50,
  gcParallelDestroys: 2,
  /** Delay between a new allocation and the following garbage collection. */
  gcAfterNewAllocationMs: 1_000,
  /** How long data that may migrate is kept, even on a full disk. */
  gcMigrationDataRetentionMs: 10 * 60_000,
  /** Size of the secrets directory of a task that sets none. */
  secretsMB: 1,
  /** Timeout for the data of another node. */
  dataMigrationTimeoutMs: 60 * 60_000,
  /** Chunk size of migrated data, and the maximum depth of its directories. */
  dataMigrationChunkBytes: 64 * 1024,
  dataMigrationDepthMax: 128,
  /** Characters of a check's output that are quoted in an event. */
  checkOutputExcerptCharsMax: 200,
  /** Bytes of output that are kept of a task when it ends. */
  lastOutputBytes: 4_096,
  /** Configuration files of CNI networks that are read; a node has a few. */
  cniConfigFilesMax: 64,
  /** Maximum size of a configuration file, which is stored for each allocation of the network. */
  cniConfigBytesMax: 256 * 1024,
  /** Plug-ins of one network; most have two or three. */
  cniPluginsMax: 16,
  /** Timeout of one plug-in call; a DHCP server may take ten seconds. */
  cniPluginTimeoutMs: 60_000,
  /** Allocations whose plug-ins run in parallel: each call starts a process or two. */
  cniAllocationsInFlightMax: 8,
  /** Maximum length of a plug-in's error message. */
  cniErrorCharsMax: 2_048,
  /**
   * Limits for reading the versions of plug-ins: their number, the parallel calls, and the timeout.
   */
  cniVersionPluginsMax: 64,
  cniVersionsInFlightMax: 4,
  cniVersionTimeoutMs: 5_000,
  /** Maximum size of a checksum file. */
  checksumFileBytesMax: 1024 * 1024,
} as const
