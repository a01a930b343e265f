/** Every bound and every wait of the node agent, in one table. */
export const AGENT_LIMITS = {
  /** The longest a task may ask for between the kill signal and the forced end. */
  killTimeoutMsMax: 30_000,
  /** How often a kill is tried before the task is given up with its error. */
  killAttemptsMax: 5,
  killRetryMsFirst: 1_000,
  /** How long an exit may take to be known after every process of the task is gone. */
  exitKnownMsMax: 10_000,
  /** How long changes of an allocation that need not be saved at once are gathered. */
  saveMs: 200,
  /** How often a task that waits for its schedule reads the clock, which may be set. */
  scheduleCheckMs: 60_000,
  /** Length of one text in a task event; the rest is cut. */
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
   * Characters of the jobs (as JSON) that are written or prepared in one turn of the event loop:
   * some milliseconds. A single job may have more, up to 4 MiB.
   */
  turnCharsMax: 256 * 1024,
  /** Depth of a driver's configuration. */
  configDepthMax: 32,
  /** Pause before dialling again, doubling up to the maximum. */
  reconnectMsFirst: 250,
  reconnectMsMax: 30_000,
  /**
   * The same after a server stopped in order, and how long that holds: it is most often back in
   * seconds. Longer than a moment, because all nodes of the cluster come back at once.
   */
  restartReconnectMsMax: 2_000,
  restartMsMax: 60_000,
  /** How long a server may take to be reached, and then to answer the greeting. */
  dialMsMax: 10_000,
  /** What is read of the answer of a server that does not let the node in. */
  refusalCharsMax: 1_024,
  greetingMsMax: 10_000,
  /** How long a status report may stay without its receipt before the channel counts as broken. */
  receiptMsMax: 30_000,
  /** The channel counts as broken when nothing arrives for this many heartbeats. */
  silentHeartbeatsMax: 3,
  /** Bounds on what a server may ask for as the time between heartbeats. */
  heartbeatMsMin: 100,
  heartbeatMsMax: 10 * 60_000,
  /** Allocations in one status report. */
  reportedAllocationsMax: 256,
  /** Messages received and not yet acted on; past this the channel is dropped and begins anew. */
  unreadMessagesMax: 1_024,
  /**
   * Pause before a driver is asked again for a task of the agent before this one, doubling up to
   * the maximum: an engine that starts after the agent is most often there within seconds.
   */
  recoverRetryMsFirst: 250,
  recoverRetryMsMax: 5_000,
  /** How often drivers and networks are probed again. */
  fingerprintMs: 30_000,
  /** How long a driver may take to answer a probe before it counts as unhealthy. */
  probeMsMax: 10_000,
  /** How long a driver may take to end what is left of tasks without a record. */
  sweepMsMax: 30_000,
  /** How long a followed file may stay unlooked at, should the kernel not tell of a change. */
  followSweepMs: 1_000,
  /** Frames of an exec session that only say that its end is there. */
  execHeartbeatMs: 10_000,
  /** How long a terminal waits for its size: callers say it at once, if they do. */
  execSizeMsMax: 500,
  /** How long a command waits for a task that an agent which came back has yet to find again. */
  reattachMsMax: 5_000,
  reattachLookMs: 50,
  /** Bytes of output in one frame of an exec session. */
  execChunkBytesMax: 16 * 1024,
  /** How long a task that was asked for its use may take to tell. */
  usageMsMax: 5_000,
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
  /** How long a fetcher may take to end by itself before it is killed. */
  artifactStopMsMax: 5_000,
  /** A fetcher reports its use of the disk whenever it has grown by this much. */
  artifactReportBytes: 1024 ** 2,
  /** How long one artifact may take, unless `client.artifact.timeout` says otherwise. */
  artifactMsMax: 30 * 60_000,
  /** The most for an allocation whose group asks for no size, or for more. */
  artifactBytesMax: 100 * 1024 ** 3,
  /** Files, directories and links of one artifact, unless `client.artifact.max_entries` differs. */
  artifactEntriesMax: 65_536,
  artifactDepthMax: 128,
  /** Characters of a bucket's answer that are searched for its reason. */
  artifactProblemCharsMax: 4_096,
  artifactRedirectsMax: 10,
  /** A server that sends nothing for this long is given up. */
  artifactSilenceMsMax: 60_000,
  /** What the data of an allocation that comes from another node may unpack to. */
  unpackedBytesMax: 100 * 1024 ** 3,
  unpackedFilesMax: 65_536,
  /** Past the first bytes an archive may be this many times larger unpacked than packed. */
  unpackedRatioMax: 250,
  unpackedRatioFreeBytes: 64 * 1024 * 1024,
  /** Length of a path inside an archive, and of the extra records that tell it. */
  memberPathBytesMax: 4_096,
  memberRecordBytesMax: 1024 * 1024,
  /** How often a task that waits for data says what it waits for. */
  templateMissingMs: 3_000,
  /** Changes that come together are rendered together. */
  templateGatherMs: 250,
  /** Size of a template's source file, and of a file that one includes. */
  templateFileBytesMax: 4 * 1024 * 1024,
  /** Services and variables that the templates of one task follow, and files they include. */
  templateFactsMax: 1_000,
  /** How often rendering is begun anew because of files that were not known before. */
  templateRoundsMax: 100,
  /**
   * Wall time of rendering all templates of a task once. Few take more than some milliseconds; the
   * byte budget of the language takes a second or two of a free core.
   */
  templateMsMax: 5_000,
  /** Heap of a thread that renders. What the byte budget lets be built fits several times. */
  templateMegabytesMax: 256,
  /** Threads that render: with two, one job's slow templates leave one for everybody else. */
  templateThreadsMax: 2,
  /** A thread without work is stopped after this; it takes some 20 MB. */
  templateIdleMs: 60_000,
  /** Characters of all that one rendering is handed: copying them takes the event loop's time. */
  templateInputCharsMax: 32 * 1024 * 1024,
  /** Bytes of all files that the templates of one task make; the agent holds them meanwhile. */
  templateOutputBytesMax: 32 * 1024 * 1024,
  /** Entries of a directory that are read at once, and removed at once. */
  directoryBatch: 128,
  /** How often the disk of an allocation is measured, and how many entries one look may take. */
  diskLookMs: 60_000,
  diskEntriesMax: 200_000,
  /** When what ended allocations left is removed. */
  garbageLookMs: 60_000,
  garbageDiskPercent: 80,
  garbageInodePercent: 70,
  garbageAllocations: 50,
  garbageAtOnce: 2,
  /** How long after new work has come the node looks whether it has room. */
  garbageSoonMs: 1_000,
  /** How long data that is to move on is kept for whoever comes for it, on a full disk too. */
  garbageDataMs: 10 * 60_000,
  /** The size of a task's secrets when it asks for none. */
  secretsMB: 1,
  /** How long an allocation waits for data from another node, in all. */
  dataMsMax: 60 * 60_000,
  /** Bytes of it in one message, and how deep its directories may be. */
  dataChunkBytes: 64 * 1024,
  dataDepthMax: 128,
  /** Characters of a check's output in the event that names the check: events are kept and sent. */
  quotedCheckCharsMax: 200,
  /** Bytes of output that are kept of a task when it ends. */
  lastOutputBytes: 4_096,
  /** Configuration files of CNI networks that are read; a node has a few. */
  cniConfigFilesMax: 64,
  /** A file has a few hundred bytes; each allocation of the network keeps a copy. */
  cniConfigBytesMax: 256 * 1024,
  /** Plug-ins of one network; most have two or three. */
  cniPluginsMax: 16,
  /** How long one call of a plug-in may take; a DHCP server is waited for some ten seconds. */
  cniPluginMsMax: 60_000,
  /** Allocations whose plug-ins run at once: each call is a process or two. */
  cniAllocationsInFlightMax: 8,
  /** What is kept of the error that a plug-in prints. */
  cniErrorCharsMax: 2_048,
  /** Plug-ins that are asked for their version, how many at once, and how long one may take. */
  cniVersionsMax: 64,
  cniVersionsInFlightMax: 4,
  cniVersionMsMax: 5_000,
  /** Texts that checksum files may have. */
  checksumFileBytesMax: 1024 * 1024,
} as const
