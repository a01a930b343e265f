/** Every bound on what a caller controls, in one table. Each cites where it comes from. */
export const LIMITS = {
  /** Request bodies on `/v1` and JSON bodies on `/api/v2`, after decompression. Decision 0007. */
  bodyBytesMax: 4 * 1024 * 1024,
  /**
   * Larger JSON bodies are parsed and validated on a thread: so much takes some 2 ms. Also what a
   * trial of policies may have as `run` and `params`, which the event loop parses.
   */
  inlineBodyBytesMax: 256 * 1024,
  /**
   * Time and memory for one such body: 50 MB take a second, and four copies of it as text. Bodies
   * that wait for the thread, and for how long. Decision 0081.
   */
  largeBodyMsMax: 10_000,
  largeBodyMegabytesMax: 512,
  largeBodiesWaitingPerTenantMax: 32,
  largeBodiesWaitingMax: 256,
  largeBodyWaitMsMax: 60_000,
  /**
   * Bytes of an uploaded plan in one write to the log: commits of others wait behind it. A larger
   * plan is stored in parts of this size. Decision 0081.
   */
  planPartBytes: 1024 * 1024,

  /** The same of an archive or a state that is stored sealed. */
  blobPartBytes: 1024 * 1024,

  /** Time and memory of the thread that reads large states: 100 MB take 2 s and 600 MB. */
  stateReadMsMax: 20_000,
  stateReadMegabytesMax: 1_024,
  /** Nesting of free-form JSON (task config, scaling policy). Decision 0007. */
  jsonDepthMax: 64,
  /** Nesting of the JSON of a body, and its objects and lists together. Decision 0007. */
  jsonBodyDepthMax: 512,
  jsonContainersMax: 100_000,
  /** Different names in the JSON of a body; one counts anew after other names. Decision 0007. */
  jsonShapesMax: 30_000,
  /** Length of a URL with its query. Decision 0007. */
  urlBytesMax: 64 * 1024,
  /** How long a caller may take to send one request. Decision 0007. */
  requestMsMax: 5 * 60_000,
  /** Length of one path segment or job id in a path. Decision 0007. */
  pathParamCharsMax: 4096,
  /** A task's name is part of file names on its node, of up to 255 bytes. */
  taskNameBytesMax: 200,
  /** Event-loop time of one slice of a long computation: others are delayed by no more. */
  sliceMsMax: 5,
  /**
   * Jobs with no more instances, wanted and existing ones, are placed by the commit that registers
   * them. The response to a larger one would wait for its placement, and so would everybody else.
   */
  inlineInstancesMax: 16,
  /**
   * Allocations that one plan places. Planning and committing so many takes about 100 ms, in which
   * nobody else is served; a larger job is placed by several plans.
   */
  placementsPerPlanMax: 1_000,
  /** Default 5 minutes, cap 10 minutes, plus up to a sixteenth of jitter. */
  waitMsDefault: 5 * 60_000,
  waitMsMax: 10 * 60_000,
  waitJitterShare: 16,
  /** Blocking queries parked at once on one server. Decision 0007. */
  parkedQueriesMax: 50_000,
  /** Parked queries of a tenant that go on in one turn: each takes up to 0.2 ms. Decision 0066. */
  parkedQueriesPerTurn: 16,
  /** Bytes that parked queries of a tenant send in one turn: 1 MB takes some 2 ms to write. */
  wokenBytesPerTurn: 1024 * 1024,
  /**
   * Responses that identical parked queries share: how many are kept, how many bytes of them, and
   * how long. All queries that one commit has woken have gone on by then; later ones compute anew.
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
  /** Bytes an event stream's reader may lag behind before it is cut off. Decision 0007. */
  streamBacklogBytesMax: 16 * 1024 * 1024,
  /** Page size of lists when the caller gives none is unlimited; this caps a given one. */
  perPageMax: 100_000,
  /**
   * Rows that the filter of one page may reject, about a second of work: then the page ends, and
   * the next one goes on there. Indexes skip rows without counting them.
   */
  filteredRowsMax: 50_000,
  /** A longer list without pages is sent as it is read, and never in memory as a whole. */
  wholeListCharsMax: 4 * 1024 * 1024,
  tokenNameCharsMax: 256,
  /** Bounds of a token's life. */
  tokenTtlMsMin: 60_000,
  tokenTtlMsMax: 24 * 3_600_000,
  /** A one-time token lives ten minutes. */
  oneTimeTokenMs: 10 * 60_000,
  descriptionCharsMax: 256,
  /** At most the latest 10 task events are kept per task. */
  taskEventsMax: 10,
  /** A node keeps its latest 10 events. */
  nodeEventsMax: 10,
  /** Versions of a job that are kept. */
  jobVersionsMax: 6,
  /** Sources of a job that are kept. */
  jobSourcesMax: 6,
  /** Why a version was submitted. */
  jobMessageCharsMax: 500,
  /** A larger source is registered without being kept. */
  jobSourceBytesMax: 1_000_000,
  /** Tagged versions are kept beyond the limit, so they need one of their own. Decision 0013. */
  jobTagsMax: 64,
  tagDescriptionCharsMax: 1000,
  /** Values that one diff of jobs tells one by one. Decision 0013. */
  diffValuesMax: 100_000,
  /** Length of all diffs in one list of versions. Decision 0013. */
  diffsCharsMax: 64 * 1024 * 1024,
  /** Length of a job that comes out of a job file: a longer one fits no request. Decision 0065. */
  parsedJobCharsMax: 4 * 1024 * 1024,
  /** How long reading one job file may take. Decision 0065. */
  jobFileMsMax: 2_000,
  /**
   * Job files that wait for the thread: of one tenant, so that its backlog is its own, and of all,
   * which bounds the memory. One that waited longer has no reader any more. Decision 0065.
   */
  jobFilesWaitingPerTenantMax: 32,
  jobFilesWaitingMax: 256,
  jobFileWaitMsMax: 30_000,
  /** Memory of the thread that reads job files. Decision 0065. */
  jobFileMegabytesMax: 256,
  /** Job_max_count. */
  jobCountMax: 50_000,
  /**
   * A plan of more instances waits for its tenant's turn: one of each tenant, and of so many
   * tenants, at a time, because each may hold a hundred megabytes. Decision 0065.
   */
  smallPlanInstancesMax: 500,
  largePlansRunningMax: 2,
  largePlansWaitingPerTenantMax: 8,
  largePlansWaitingMax: 64,
  largePlanWaitMsMax: 30_000,
  /** Task groups and tasks of one job together. Decision 0007. */
  jobPartsMax: 2_000,
  /** Entries of all lists and maps of one job. Decision 0007. */
  jobEntriesMax: 10_000,
  /** Length of what a constraint or affinity compares with. Decision 0007. */
  constraintCharsMax: 65_536,
  /** Instructions of a regular expression, and of all those of one job. Decision 0007. */
  patternInstructionsMax: 20_000,
  /** Violations of one job that are told one by one. Decision 0007. */
  jobProblemsMax: 1_000,
  /** Characters of a check's output or a task's event that the end of a deployment quotes. */
  failureReasonCharsMax: 300,
  /** Characters of a rejected name that its message shows: enough to recognize it. */
  shownNameCharsMax: 100,
  /** Bytes of a dispatched payload, decoded. */
  dispatchPayloadBytesMax: 16_384,
  /** Cron expressions of one periodic job. Decision 0013. */
  periodicSpecsMax: 64,
  /** Scaling events that are kept of a group. */
  scalingEventsMax: 20,
  /** Characters of message and metadata of one scaling event, as JSON. Decision 0013. */
  scalingEventCharsMax: 64 * 1024,
  /** Evaluations that one request may delete by id. */
  deletedEvaluationsMax: 7_281,
  /** Matches of one context of a search by prefix. */
  searchMatchesMax: 20,
  /** Rows that a search by prefix passes over in one context before it says that there are more. */
  searchRowsMax: 10_000,
  /** A fuzzy search needs this much text, and finds this much in each context. */
  fuzzyTextCharsMin: 2,
  fuzzyObjectsMax: 20,
  fuzzyResultsMax: 100,
  /** Rows that a fuzzy search looks at in one table, and what it ranks of one context. */
  fuzzyRowsMax: 50_000,
  fuzzyCandidatesMax: 2_000,
  /** Contract, explain: refusals and instances listed of a group, and groups of a job. */
  explainedItemsMax: 1_000,
  explainedGroupsMax: 100,
  /** Bytes of all keys and values of one variable. */
  variableItemsBytesMax: 64 * 1024,
  /** How long a lock of a variable may be held without being kept, and rest after it ran out. */
  variableLockMsMin: 10_000,
  variableLockMsMax: 24 * 3_600_000,
  variableLockMsDefault: 15_000,
  /** Instances that one allocation may register, and tags of one. Decision 0025. */
  servicesPerAllocationMax: 1_000,
  /** Services and variables that one node follows at once for its templates. Decision 0025. */
  nodeWatchesMax: 10_000,
  /** Denials, and as many overrides, that are kept of each namespace. Decision 0028. */
  verdictsMax: 200,
  /** A larger job that was judged is not kept with its verdict. Decision 0028. */
  judgedJobBytesMax: 1_000_000,
  /** Outcomes listed in a verdict and in a plan, findings of each, and characters of one. */
  verdictOutcomesMax: 100,
  plannedOutcomesMax: 1_000,
  verdictFindingsMax: 10,
  findingCharsMax: 1_000,
  overrideCommentCharsMax: 1_000,
  /** How often policies are asked again because what they judged has changed meanwhile. */
  policyRoundsMax: 5,
  /** Code of policies that is kept at hand. */
  policyTextsMax: 1_000,
  policyTextCharsMax: 64 * 1024 * 1024,
  /** Variables that policies may read, and the characters of all of them. */
  policyVariablesMax: 1_000,
  policyVariableCharsMax: 4 * 1024 * 1024,
  /** Values of jobs and nodes that one answer with metrics holds; jobs beyond are left out. */
  metricSeriesMax: 50_000,
  /** Status updates one agent may send in one message. Decision 0007. */
  agentMessageBytesMax: 8 * 1024 * 1024,
  /**
   * What a node may say of itself when it registers: nodes are not trusted, and every list of nodes
   * carries it. Machines have far less. Decision 0064.
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
  /** Parameters for the plugin of a volume, and the length of each value. */
  hostVolumeParametersMax: 64,
  hostVolumeParameterCharsMax: 4_096,
  hostVolumeConstraintsMax: 64,
  /** How long a volume plugin may take to make or remove a volume. */
  volumePluginMsMax: 60_000,
  /** Sums over a million such nodes are still exact. */
  nodeCpuMHzMax: 2 ** 27,
  nodeCoresMax: 2 ** 14,
  nodeMemoryMBMax: 2 ** 31,
  nodeDiskMBMax: 2 ** 33,
  /** A node that names an unknown pool creates it, while there are fewer pools. Decision 0064. */
  nodePoolsMax: 1_000,
  /** Join tokens are short-lived: a leaked one is worth little. Decision 0064. */
  joinTokenTtlMsMin: 60_000,
  joinTokenTtlMsDefault: 60 * 60_000,
  joinTokenTtlMsMax: 24 * 3_600_000,
  /** Join tokens that have not expired. */
  joinTokensMax: 10_000,
  /** A shorter shared join token could be guessed. */
  sharedJoinTokenCharsMin: 16,
  sharedJoinTokenCharsMax: 1_024,
  /** Revocations stay until they are undone, and each is a row in memory. Decision 0064. */
  nodeRevocationsMax: 100_000,
  revokeReasonCharsMax: 256,
  /**
   * Messages and bytes a second that one node may send, and how much it may send at once. A node
   * that starts a thousand allocations sends a few hundred reports a second. Beyond the rate its
   * connection is read more slowly; if that does not make the node slower for `nodeOverloadMsMax`,
   * it is closed and the node is refused for `nodePenaltyMs`. Decision 0064.
   */
  nodeMessagesPerSecond: 500,
  nodeMessagesBurst: 2_000,
  nodeBytesPerSecond: 8 * 1024 * 1024,
  nodeBytesBurst: 64 * 1024 * 1024,
  nodeOverloadMsMax: 30_000,
  nodePenaltyMs: 60_000,
  /** Messages of one node that wait for their turn before its connection is read no further. */
  nodeMessagesQueuedMax: 64,
  /**
   * Heartbeats of one node that are answered, each second and at once; others are dropped. Nodes
   * send one in 5 s, and ten a second at the shortest time that the settings allow.
   */
  nodeHeartbeatsPerSecond: 20,
  nodeHeartbeatsBurst: 40,
  /** Requests under way to one node, and how long most of them may take. Decision 0026. */
  nodeRequestsMax: 256,
  nodeRequestMsMax: 15_000,
  /** A restart waits for the old process, and a removal for the disk. */
  nodeSlowRequestMsMax: 3 * 60_000,
  /** Exec, log and file streams open at once on one node. Decision 0026. */
  nodeStreamsMax: 1_024,
  /** How long a node may take to dial a stream and to begin it. */
  nodeStreamOpenMsMax: 15_000,
  /**
   * Bytes that may wait in one stream before its sender has to, and in all streams of one process.
   * The kernel's buffers carry the delay of the network; these only bridge turns of the event loop.
   * With very many streams each still gets `streamBytesMin`, about one frame.
   */
  nodeStreamBuffers: {
    streamBytesMax: 64 * 1024,
    streamBytesMin: 16 * 1024,
    totalBytesMax: 64 * 1024 * 1024,
  },
  /**
   * Bytes that all streams of one token bring from nodes each second, and at once: about a tenth of
   * a processor for the server, where ACLs are enabled. A stream above it is read more slowly.
   */
  nodeStreamBytesPerSecond: 32 * 1024 * 1024,
  nodeStreamBytesBurst: 4 * 1024 * 1024,
  /**
   * Pings of one WebSocket peer: so many at once, and so many each second. The agent and the
   * command line send one every ten seconds; a peer that sends more is cut off.
   */
  webSocketPingsMax: 60,
  webSocketPingsPerSecond: 5,
  /** Signs of life on a stream, and how long none may come. */
  nodeStreamPingMs: 10_000,
  nodeStreamSilentMsMax: 60_000,
  /**
   * Allocations of one node that wait for data of other nodes at once, and how long each may wait
   * for the end of the one before it.
   */
  nodeMigrationsMax: 256,
  nodeMigrationWaitMsMax: 60 * 60_000,
  /** Losses of nodes further apart than this do not quarantine a job. Decision 0061. */
  nodeLossWindowMs: 10 * 60_000,
  /** A task that started this long before its node was lost is not blamed. Decision 0061. */
  startingRunMsMax: 10_000,
  /** A start is harmless when the node is up and the task runs this long. Decision 0061. */
  harmlessRunMsMin: 30_000,
  /** Nodes with a harmless start that outweigh one lost node. Decision 0061. */
  harmlessNodesPerLoss: 3,
  /** Allocations of a job that are inspected for harmless starts when a node is lost. */
  harmlessAllocationsMax: 1_000,
  /** Delay before a job is placed again after a node was lost with it; doubled for each loss. */
  nodeLossDelayMs: 30_000,
  nodeLossDelayMsMax: 5 * 60_000,
  /** Jobs that were starting on one lost node are placed again in this many separate batches. */
  nodeLossBatches: 4,
  /** Losses of nodes that a job keeps; older ones are dropped. Decision 0061. */
  jobNodeLossesMax: 8,
  /** How long the first frame of an exec channel may take. */
  execHandshakeMsMax: 10_000,
  /** A frame of exec carries up to 64 KiB, in base64. */
  execFrameBytesMax: 128 * 1024,
  /**
   * How long frames of an exec client are collected after one was passed on, and how much input at
   * most: a person who types notices nothing, and a flood becomes 200 frames a second.
   */
  execMergeMs: 5,
  execMergedBytesMax: 64 * 1024,
  /**
   * Frames that exec clients of one token may send each second, over all of their sessions: reading
   * one takes some 20 µs. Frames beyond that wait, at least `execThrottleMs`, so that one pause is
   * worth many frames.
   */
  execFramesPerSecond: 2_000,
  execThrottleMs: 20,
  /**
   * How long another region may take to begin its response to a forwarded request, over all of its
   * servers; what a blocking query waits comes on top. Shorter than the 60 s after which clients
   * give up, so that they are told which region is silent.
   */
  forwardMsMax: 50_000,
  /** After this long without a response the next server of the region is tried, for reads. */
  forwardAttemptMsMax: 20_000,
  /**
   * A server of another region that sends nothing for this long is probed. When it does not answer
   * in time, its exchanges are ended: responses that are awaited, and streams.
   */
  forwardSilenceMs: 10_000,
  forwardProbeMsMax: 10_000,
  /** Allocations whose output one request merges, and the longest line that is kept together. */
  jobLogSourcesMax: 128,
  jobLogLineBytesMax: 64 * 1024,
} as const
