import { CHANNEL_MESSAGE_BYTES_MAX } from '@reeve/contract'
import { parseDurationMs } from '@reeve/kit/duration.ts'

/** The largest port number. */
export const PORT_MAX = 65_535

/** All limits on input from callers, with their origin. */
export const LIMITS = {
  /** Request bodies on `/v1` and JSON bodies on `/api/v2`, after decompression. Decision 0007. */
  bodyBytesMax: 4 * 1024 * 1024,
  /**
   * Larger JSON bodies are parsed and validated on a thread: this size takes about 2 ms. Also the
   * limit of `run` and `params` in a policy trial, which are parsed on the event loop.
   */
  inlineBodyBytesMax: 256 * 1024,
  /**
   * Time and memory for one such body: 50 MB take a second, and four times their size as text. Then
   * the number of bodies that wait for the thread, and the maximum wait. Decision 0081.
   */
  largeBodyTimeoutMs: 10_000,
  largeBodyMegabytesMax: 512,
  largeBodiesWaitingPerTenantMax: 32,
  largeBodiesWaitingMax: 256,
  largeBodyWaitTimeoutMs: 60_000,
  /**
   * Maximum bytes of an uploaded plan in one log entry: other commits wait behind it. A larger plan
   * is stored in parts of this size. Decision 0081.
   */
  planPartBytes: 1024 * 1024,

  /** Part size of a sealed archive or state. */
  blobPartBytes: 1024 * 1024,

  /**
   * Time and memory of the thread that reads large states: 100 MB take 2 s and 600 MB. A state that
   * may take more than this share of the memory is rejected before it is parsed.
   */
  stateReadTimeoutMs: 20_000,
  stateReadMegabytesMax: 1_536,
  stateReadMemoryShare: 0.85,
  /** Nesting of free-form JSON (task config, scaling policy). Decision 0007. */
  jsonDepthMax: 64,
  /** Nesting of the JSON of a body, and its objects and lists together. Decision 0007. */
  jsonBodyDepthMax: 512,
  jsonContainersMax: 100_000,
  /** Distinct names in the JSON of a body, counted anew after different names. Decision 0007. */
  jsonShapesMax: 30_000,
  /** Length of a URL with its query. Decision 0007. */
  urlBytesMax: 64 * 1024,
  /** Headers of a request, beside the longest URL. */
  headerBytesMax: 16 * 1024,
  /** Maximum time to send one request, and its headers. Decision 0007. */
  requestTimeoutMs: 5 * 60_000,
  headTimeoutMs: 15_000,
  /** Length of one path segment or job ID in a path. Decision 0007. */
  pathParamCharsMax: 4096,
  /** A task's name is part of file names on its node, of up to 255 bytes. */
  taskNameBytesMax: 200,
  /** Event-loop time of one slice of a long computation: the maximum delay of other requests. */
  sliceMsMax: 5,
  /**
   * Jobs with up to this number of wanted and existing instances are placed by the commit that
   * registers them. Placing a larger one would delay its response and all other requests.
   */
  inlineInstancesMax: 16,
  /**
   * Maximum allocations placed by one plan. Planning and committing this many takes about 100 ms,
   * in which no other request is served; a larger job is placed by several plans.
   */
  placementsPerPlanMax: 1_000,
  /** Default 5 minutes, cap 10 minutes, plus up to a sixteenth of jitter. */
  waitMsDefault: 5 * 60_000,
  waitMsMax: 10 * 60_000,
  waitJitterShare: 16,
  /** Blocking queries parked at once on one server. Decision 0007. */
  parkedQueriesMax: 50_000,
  /**
   * Parked queries of a tenant that continue in one turn: each takes up to 0.2 ms. Decision 0066.
   */
  parkedQueriesPerTurn: 16,
  /** Bytes sent to parked queries of a tenant in one turn: 1 MB takes about 2 ms to write. */
  wokenBytesPerTurn: 1024 * 1024,
  /**
   * Responses shared by identical parked queries: their number, bytes and lifetime. All queries
   * that one commit has woken have continued by then; later ones are computed anew.
   */
  sharedResponsesMax: 256,
  sharedResponseBytesMax: 32 * 1024 * 1024,
  sharedResponseMs: 2_000,
  /** Defaults of the block `limits`: streams and sessions that one token may have open. */
  eventStreamsPerToken: 64,
  execSessionsPerToken: 256,
  logStreamsPerToken: 256,
  /** Readers of one token that follow the log of a server. */
  serverLogFollowersMax: 16,
  /**
   * Bytes that a reader of an event stream may lag behind before it is disconnected. Decision 0007.
   */
  streamBacklogBytesMax: 16 * 1024 * 1024,
  /** Maximum of `per_page`; lists are unlimited without one. */
  perPageMax: 100_000,
  /**
   * Rows that the filter of one page may reject, about a second of work: then the page ends, and
   * the next one continues there. Indexes skip rows without counting them.
   */
  filteredRowsMax: 50_000,
  /** Length above which an unpaginated list is streamed instead of built in memory. */
  wholeListCharsMax: 4 * 1024 * 1024,
  tokenNameCharsMax: 256,
  /** Limits of a token's TTL. */
  tokenTtlMsMin: 60_000,
  tokenTtlMsMax: 24 * 3_600_000,
  /** Lifetime of a one-time token: ten minutes. */
  oneTimeTokenMs: 10 * 60_000,
  descriptionCharsMax: 256,
  /** Task events retained per task. */
  taskEventsMax: 10,
  /** Events retained per node. */
  nodeEventsMax: 10,
  /** Versions retained per job. */
  jobVersionsMax: 6,
  /** Sources retained per job. */
  jobSourcesMax: 6,
  /** Length of a version's message. */
  jobMessageCharsMax: 500,
  /** A larger source is not stored; the job is registered without it. */
  jobSourceBytesMax: 1_000_000,
  /**
   * Tagged versions are retained beyond the version limit, so they need one of their own. Decision
   * 0013.
   */
  jobTagsMax: 64,
  tagDescriptionCharsMax: 1000,
  /** Values that one job diff lists individually. Decision 0013. */
  diffValuesMax: 100_000,
  /** Length of all diffs in one list of versions. Decision 0013. */
  diffsCharsMax: 64 * 1024 * 1024,
  /**
   * Length of a job parsed from a job file: a longer one exceeds the request limit. Decision 0065.
   */
  parsedJobCharsMax: 4 * 1024 * 1024,
  /** Maximum time of parsing one job file. Decision 0065. */
  jobFileTimeoutMs: 2_000,
  /**
   * Job files that wait for the thread: per tenant, so that tenants do not block each other, and in
   * total, which limits memory. After the maximum wait the client has given up. Decision 0065.
   */
  jobFilesWaitingPerTenantMax: 32,
  jobFilesWaitingMax: 256,
  jobFileWaitTimeoutMs: 30_000,
  /** Memory of the thread that parses job files. Decision 0065. */
  jobFileMegabytesMax: 256,
  /** Default of the setting `job_max_count`. */
  jobCountMax: 50_000,
  /**
   * A plan of more instances waits for its tenant's turn: one per tenant, and this many tenants, at
   * a time, because each may use a hundred megabytes. Decision 0065.
   */
  smallPlanInstancesMax: 500,
  largePlansRunningMax: 2,
  largePlansWaitingPerTenantMax: 8,
  largePlansWaitingMax: 64,
  largePlanWaitTimeoutMs: 30_000,
  /** Task groups and tasks of one job in total. Decision 0007. */
  jobPartsMax: 2_000,
  /** Entries of all lists and maps of one job. Decision 0007. */
  jobEntriesMax: 10_000,
  /** Length of the right side of a constraint or affinity. Decision 0007. */
  constraintCharsMax: 65_536,
  /** Instructions of a regular expression, and of all those of one job. Decision 0007. */
  patternInstructionsMax: 20_000,
  /** Problems of one job that are listed individually. Decision 0007. */
  jobProblemsMax: 1_000,
  /** Length of a check's output or task event in the failure reason of a deployment. */
  failureReasonCharsMax: 300,
  /** Length of a rejected name in an error message: enough to recognize it. */
  shownNameCharsMax: 100,
  /** Bytes of a dispatched payload, decoded. */
  dispatchPayloadBytesMax: 16_384,
  /** Cron expressions of one periodic job. Decision 0013. */
  periodicSpecsMax: 64,
  /** Scaling events retained per group. */
  scalingEventsMax: 20,
  /** Characters of message and metadata of one scaling event, as JSON. Decision 0013. */
  scalingEventCharsMax: 64 * 1024,
  /** Evaluations deleted by ID in one request. */
  deletedEvaluationsMax: 7_281,
  /** Matches per context of a prefix search. */
  searchMatchesMax: 20,
  /** Hidden rows that a prefix search skips in one context before it reports truncation. */
  searchRowsMax: 10_000,
  /** Minimum length of a fuzzy search text, and maximum matches per context. */
  fuzzyTextCharsMin: 2,
  fuzzyObjectsMax: 20,
  fuzzyResultsMax: 100,
  /** Rows that a fuzzy search scans per table, and candidates that it ranks per context. */
  fuzzyRowsMax: 50_000,
  fuzzyCandidatesMax: 2_000,
  /**
   * Maximum numbers in an explanation: rejections and instances of a group, and groups of a job.
   */
  explainedItemsMax: 1_000,
  explainedGroupsMax: 100,
  /** Size of all keys and values of one variable. */
  variableItemsBytesMax: 64 * 1024,
  /** TTL of a variable lock without renewal, and delay after it has expired. */
  variableLockMsMin: 10_000,
  variableLockMsMax: 24 * 3_600_000,
  variableLockMsDefault: 15_000,
  /** Services registered by one allocation, and tags of one service. Decision 0025. */
  servicesPerAllocationMax: 1_000,
  /** Services and variables that one node watches for its templates. Decision 0025. */
  nodeWatchesMax: 10_000,
  /** Denials, and as many overrides, retained per namespace. Decision 0028. */
  policyDecisionsMax: 200,
  /** A larger evaluated job is not stored with its policy results. Decision 0028. */
  evaluatedJobBytesMax: 1_000_000,
  /** Outcomes listed in a policy result and in a plan, findings of each, and length of one. */
  verdictOutcomesMax: 100,
  plannedOutcomesMax: 1_000,
  verdictFindingsMax: 10,
  findingCharsMax: 1_000,
  overrideCommentCharsMax: 1_000,
  /** Maximum number of policy evaluations of one request, if its input changes meanwhile. */
  policyRoundsMax: 5,
  /** Cached policy code. */
  policyTextsMax: 1_000,
  policyTextCharsMax: 64 * 1024 * 1024,
  /** Variables that policies may read, and their total length. */
  policyVariablesMax: 1_000,
  policyVariableCharsMax: 4 * 1024 * 1024,
  /** Values of jobs and nodes in one metrics response; further jobs are omitted. */
  metricSeriesMax: 50_000,
  /** Tasks in one metrics response; further tasks are omitted. */
  metricTasksMax: 2_000,
  /** Status updates one agent may send in one message. Decision 0007. */
  agentMessageBytesMax: CHANNEL_MESSAGE_BYTES_MAX,
  /**
   * Limits of a node's description at registration: nodes are not trusted, and every node list
   * contains it. Real machines stay far below. Decision 0064.
   */
  nodeNameCharsMax: 128,
  nodeWordCharsMax: 256,
  nodeTextCharsMax: 4_096,
  nodeAttributesMax: 1_000,
  nodeMetaMax: 256,
  nodeDriversMax: 64,
  nodePartsMax: 256,
  nodeDeviceInstancesMax: 4_096,
  nodeRegistrationBytesMax: 256 * 1024,
  nodeHealthTextCharsMax: 1_000,
  /**
   * Dynamic host volumes of one cluster and of one node, where the configured ones count too, and
   * the length of the path of each: the description of a node names them all.
   */
  hostVolumesMax: 100_000,
  hostVolumesPerNodeMax: 256,
  hostVolumePathCharsMax: 256,
  /**
   * Parameters for the plugin of a volume, the length of each value, and all of them as JSON: one
   * variable of the environment holds them, for which Linux allows 128 KiB.
   */
  hostVolumeParametersMax: 64,
  hostVolumeParameterCharsMax: 4_096,
  hostVolumeParametersBytesMax: 64 * 1024,
  hostVolumeConstraintsMax: 64,
  /** Timeout of a volume plugin that creates or deletes a volume. */
  volumePluginTimeoutMs: 60_000,
  /** Bounds for which sums over a million nodes are still exact. */
  nodeCpuMHzMax: 2 ** 27,
  nodeCoresMax: 2 ** 14,
  nodeMemoryMBMax: 2 ** 31,
  nodeDiskMBMax: 2 ** 33,
  /**
   * Connections that have not sent their first message, the time for it, and its size. A node with
   * the largest permitted description stays below: a peer without a token must not keep the server
   * parsing.
   */
  unidentifiedNodesMax: 4_096,
  nodeHelloTimeoutMs: 10_000,
  nodeHelloBytesMax: 1024 * 1024,
  /** Number of node pools up to which a node with an unknown pool creates it. Decision 0064. */
  nodePoolsMax: 1_000,
  /**
   * TTL of join tokens, which are short-lived to limit the damage of a leaked one. Decision 0064.
   */
  joinTokenTtlMsMin: 60_000,
  joinTokenTtlMsDefault: 60 * 60_000,
  joinTokenTtlMsMax: 24 * 3_600_000,
  /** Unexpired join tokens. */
  joinTokensMax: 10_000,
  /** Minimum length of the shared join token, so that it cannot be guessed. */
  sharedJoinTokenCharsMin: 16,
  sharedJoinTokenCharsMax: 1_024,
  /** Revocations are kept until they are undone, and each is a row in memory. Decision 0064. */
  nodeRevocationsMax: 100_000,
  revokeReasonCharsMax: 256,
  /**
   * Messages and bytes per second, and burst, of one node. A node that starts a thousand
   * allocations sends a few hundred reports a second. Above the rate its connection is read more
   * slowly; if the node does not slow down for `nodeOverloadMsMax`, the connection is closed and
   * the node is refused for `nodePenaltyMs`. Decision 0064.
   */
  nodeMessagesPerSecond: 500,
  nodeMessagesBurst: 2_000,
  nodeBytesPerSecond: 8 * 1024 * 1024,
  nodeBytesBurst: 64 * 1024 * 1024,
  nodeOverloadMsMax: 30_000,
  nodePenaltyMs: 60_000,
  /** Queued messages of one node above which reading its connection is paused. */
  nodeMessagesQueuedMax: 64,
  /**
   * Heartbeats of one node that are answered, per second and as a burst; others are dropped. Nodes
   * send one in 5 s, and ten a second with the shortest configurable interval.
   */
  nodeHeartbeatsPerSecond: 20,
  nodeHeartbeatsBurst: 40,
  /** Pending requests to one node, and their usual timeout. Decision 0026. */
  nodeRequestsMax: 256,
  nodeRequestTimeoutMs: 15_000,
  /** Timeout of slow requests: a restart waits for the old process, and a removal for the disk. */
  nodeSlowRequestTimeoutMs: 3 * 60_000,
  /** Exec, log and file streams open at once on one node. Decision 0026. */
  nodeStreamsMax: 1_024,
  /** Maximum time for a node to connect a stream and send its first message. */
  nodeStreamOpenTimeoutMs: 15_000,
  /**
   * Buffer above which the sender of a stream is paused, and total for all streams of one process.
   * Kernel buffers cover network latency; these only cover turns of the event loop. With very many
   * streams each still gets `streamBytesMin`, about one frame.
   */
  nodeStreamBuffers: {
    streamBytesMax: 64 * 1024,
    streamBytesMin: 16 * 1024,
    totalBytesMax: 64 * 1024 * 1024,
  },
  /**
   * Bytes per second, and burst, from nodes over all streams of one token: about a tenth of a CPU
   * of the server, with ACLs enabled. A stream above the rate is read more slowly.
   */
  nodeStreamBytesPerSecond: 32 * 1024 * 1024,
  nodeStreamBytesBurst: 4 * 1024 * 1024,
  /**
   * Burst and rate of pings from one WebSocket peer. Agents and the CLI send one every ten seconds;
   * a peer that sends more is disconnected.
   */
  webSocketPingsMax: 60,
  webSocketPingsPerSecond: 5,
  /** Interval of keepalives on a stream, and timeout without one. */
  nodeStreamPingMs: 10_000,
  nodeStreamIdleTimeoutMs: 60_000,
  /**
   * Allocations of one node that wait for data of other nodes at once, and the maximum wait for the
   * end of a predecessor.
   */
  nodeMigrationsMax: 256,
  nodeMigrationWaitTimeoutMs: 60 * 60_000,
  /** Time between node losses above which they do not quarantine a job. Decision 0061. */
  nodeLossWindowMs: 10 * 60_000,
  /**
   * A task that was started this long before its node was lost is not considered the cause.
   * Decision 0061.
   */
  startingRunMsMax: 10_000,
  /** A start is harmless if the node is up and the task runs this long. Decision 0061. */
  harmlessRunMsMin: 30_000,
  /** Nodes with a harmless start that outweigh one lost node. Decision 0061. */
  harmlessNodesPerLoss: 3,
  /** Allocations of a job that are inspected for harmless starts when a node is lost. */
  harmlessAllocationsMax: 1_000,
  /** Delay before a job is placed again after a node loss; doubled with each loss. */
  nodeLossDelayMs: 30_000,
  nodeLossDelayMsMax: 5 * 60_000,
  /** Number of batches in which jobs that were starting on a lost node are placed again. */
  nodeLossBatches: 4,
  /** Node losses retained per job; older ones are dropped. Decision 0061. */
  jobNodeLossesMax: 8,
  /** Timeout of the first frame of an exec channel. */
  execHandshakeTimeoutMs: 10_000,
  /** An exec frame contains up to 64 KiB, in base64. */
  execFrameBytesMax: 128 * 1024,
  /**
   * Time for which frames of an exec client are collected after one was forwarded, and the maximum
   * input collected: not noticeable when typing, and a flood becomes 200 frames a second.
   */
  execMergeMs: 5,
  execMergedBytesMax: 64 * 1024,
  /**
   * Frames per second from exec clients of one token, over all of their sessions: reading one takes
   * about 20 µs. Further frames wait at least `execThrottleMs`, so that one pause covers many
   * frames.
   */
  execFramesPerSecond: 2_000,
  execThrottleMs: 20,
  /**
   * Maximum time until another region starts its response to a forwarded request, over all of its
   * servers; the wait of a blocking query is added. Shorter than the 60 s after which clients give
   * up, so that they receive an error that names the region.
   */
  forwardTimeoutMs: 50_000,
  /** Time without a response after which the next server of the region is tried, for reads. */
  forwardAttemptTimeoutMs: 20_000,
  /**
   * Silence after which a server of another region is probed. If it does not respond in time, its
   * pending requests and streams are terminated.
   */
  forwardSilenceMs: 10_000,
  forwardProbeTimeoutMs: 10_000,
  /** Allocations whose output one request merges, and the longest line that is kept together. */
  jobLogSourcesMax: 128,
  jobLogLineBytesMax: 64 * 1024,
} as const

/**
 * Returns the maximum wait of a blocking query before jitter: 5 minutes by default, at most 10.
 * Undefined if the text is not a duration.
 */
export function blockingWaitMs(wait: string | undefined): number | undefined {
  const requestedMs = wait === undefined || wait === '' ? 0 : parseDurationMs(wait)
  if (requestedMs === undefined) return undefined
  return requestedMs <= 0 ? LIMITS.waitMsDefault : Math.min(requestedMs, LIMITS.waitMsMax)
}
