import type {
  BodyLimits,
  CHUNK_LIMITS,
  PipeliningLimits,
  SchedulerLimits,
} from '../../http/index.ts'
import type { LIMITS } from '../../model/index.ts'

/** What a limit bounds, and what happens past it. */
export type LimitDescription = readonly [bounds: string, past: string]

type LimitName = keyof typeof LIMITS

const REJECTED_400 = '400'
const ONLY_LATEST = 'older ones are dropped'
const NODE_REJECTED = 'the registration of the node is rejected'

/**
 * The fixed limits of a server, by subject: docs/limits.md is written from them. A test fails while
 * one is missing.
 */
export const LIMIT_DESCRIPTIONS = {
  Requests: {
    bodyBytesMax: ['Body of a request on `/v1`, and of JSON on `/api/v2`, decompressed', '413'],
    jsonBodyDepthMax: ['Nesting of the JSON of a body', REJECTED_400],
    jsonContainersMax: ['Objects and lists in the JSON of a body', REJECTED_400],
    jsonShapesMax: ['Different names in the JSON of a body', REJECTED_400],
    jsonDepthMax: ['Nesting of free-form JSON, such as the `config` of a task', REJECTED_400],
    urlBytesMax: ['URL with its query', '414'],
    pathParamCharsMax: ['One segment of a path', '414'],
    requestMsMax: ['Time to send a request', '408, and the connection ends'],
    perPageMax: ['Items of a page, as `per_page` says', REJECTED_400],
    sliceMsMax: ['Event-loop time of one slice of a long computation', 'others have their turn'],
  },
  'Blocking queries and streams': {
    waitMsDefault: ['Wait of a blocking query that names none', 'the present result is sent'],
    waitMsMax: ['Longest wait of a blocking query', 'the wait is shortened'],
    waitJitterShare: ['Share of the wait that is added at random', '–'],
    parkedQueriesMax: ['Blocking queries that wait on one server', 'one more is answered at once'],
    eventStreamsPerToken: ['Default of `limits.event_streams_per_token`', '429'],
    execSessionsPerToken: ['Default of `limits.exec_sessions_per_token`', '429'],
    logStreamsPerToken: ['Default of `limits.log_streams_per_token`', '429'],
    streamBacklogBytesMax: [
      'Bytes of an event stream that its reader has not read',
      'the stream ends; the reader continues with `index`',
    ],
    nodeStreamsMax: ['Exec, log and file streams open to one node', '429'],
    nodeStreamOpenMsMax: ['Time a node has to begin a stream', '504'],
    nodeStreamBuffers: [
      'Buffers of streams: most of one, least of one, of all',
      'the sender waits',
    ],
    nodeStreamPingMs: ['Time between signs of life on a stream', '–'],
    nodeStreamSilentMsMax: ['Silence of a stream', 'the stream ends'],
    webSocketPingsMax: ['Pings of a WebSocket peer at once', 'the connection ends'],
    webSocketPingsPerSecond: ['Pings of a WebSocket peer each second', 'the connection ends'],
    execHandshakeMsMax: ['Time for the first frame of an exec session', 'the session ends'],
    execFrameBytesMax: ['Frame of an exec session', 'the session ends'],
    execMergeMs: ['Time in which frames of an exec client are merged into one', '–'],
    execMergedBytesMax: ['Input in one merged frame', 'the frame is sent'],
    jobLogSourcesMax: ['Tasks in the merged log of a job', 'further tasks wait'],
    jobLogLineBytesMax: ['Line that is kept together in a merged log', 'the line is split'],
  },
  'Tokens, variables and services': {
    tokenNameCharsMax: ['Name of an ACL token', REJECTED_400],
    tokenTtlMsMin: ['Shortest lifetime of an ACL token', REJECTED_400],
    tokenTtlMsMax: ['Longest lifetime of an ACL token', REJECTED_400],
    oneTimeTokenMs: ['Lifetime of a one-time token', 'the token is unknown'],
    descriptionCharsMax: ['Description of an ACL policy, role, namespace or pool', REJECTED_400],
    variableItemsBytesMax: ['Keys and values of a variable', REJECTED_400],
    variableLockMsMin: ['Shortest lifetime and delay of a lock', REJECTED_400],
    variableLockMsMax: ['Longest lifetime and delay of a lock', REJECTED_400],
    variableLockMsDefault: ['Lifetime and delay of a lock that names none', '–'],
    servicesPerAllocationMax: [
      'Services of one allocation, and tags of one service',
      'the rest is ignored',
    ],
    nodeWatchesMax: [
      'Services and variables that one node follows',
      'further ones are not followed',
    ],
  },
  Jobs: {
    taskNameBytesMax: ['Name of a task', REJECTED_400],
    taskEventsMax: ['Events of a task', ONLY_LATEST],
    jobVersionsMax: ['Versions of a job without a tag', ONLY_LATEST],
    jobSourcesMax: ['Sources of a job', ONLY_LATEST],
    jobSourceBytesMax: ['Source of a job', 'the job is registered without it'],
    jobTagsMax: ['Tagged versions of a job', REJECTED_400],
    tagDescriptionCharsMax: ['Description of a tag', REJECTED_400],
    jobCountMax: ['Instances of a job', REJECTED_400],
    jobPartsMax: ['Groups and tasks of a job', REJECTED_400],
    jobEntriesMax: ['Entries of all lists and maps of a job', REJECTED_400],
    constraintCharsMax: ['Operand of a constraint or affinity', REJECTED_400],
    patternInstructionsMax: ['Size of the regular expressions of a job', REJECTED_400],
    jobProblemsMax: ['Problems of a job that are listed', 'the rest is counted'],
    dispatchPayloadBytesMax: ['Payload of a dispatch', REJECTED_400],
    periodicSpecsMax: ['Cron expressions of a job', REJECTED_400],
    scalingEventsMax: ['Scaling events of a group', ONLY_LATEST],
    scalingEventCharsMax: ['Message and metadata of a scaling event', REJECTED_400],
    deletedEvaluationsMax: ['Evaluations that one request deletes', REJECTED_400],
    parsedJobCharsMax: ['Job that a job file describes', REJECTED_400],
    jobFileMsMax: ['Time to parse a job file', REJECTED_400],
    jobFileMegabytesMax: ['Memory of the thread that parses job files, in MB', REJECTED_400],
    jobFilesWaitingPerTenantMax: ['Job files of one token that wait', '429'],
    jobFilesWaitingMax: ['Job files that wait on one server', '429'],
    jobFileWaitMsMax: ['Time that a job file waits', '429'],
    smallPlanInstancesMax: ['Instances of a plan that does not wait for its turn', 'it waits'],
    largePlansRunningMax: ['Larger plans at a time', 'others wait'],
    largePlansWaitingPerTenantMax: ['Larger plans of one token that wait', '429'],
    largePlansWaitingMax: ['Larger plans that wait on one server', '429'],
    largePlanWaitMsMax: ['Time that a larger plan waits', '429'],
    diffValuesMax: ['Values that a diff lists', 'the diff is truncated'],
    diffsCharsMax: ['Diffs in one list of versions', REJECTED_400],
  },
  'Search and explain': {
    searchMatchesMax: ['Matches of one context by prefix', 'truncated'],
    searchRowsMax: ['Rows inspected in one context by prefix', 'truncated'],
    fuzzyTextCharsMin: ['Shortest text of a fuzzy search', REJECTED_400],
    fuzzyObjectsMax: ['Objects in one context of a fuzzy search', 'truncated'],
    fuzzyResultsMax: ['Results of a fuzzy search in one context', 'truncated'],
    fuzzyRowsMax: ['Rows inspected in one table by a fuzzy search', 'truncated'],
    fuzzyCandidatesMax: ['Candidates ranked in one context by a fuzzy search', 'truncated'],
    explainedItemsMax: ['Reasons and instances listed for a group by `explain`', REJECTED_400],
    explainedGroupsMax: ['Groups listed by `explain`', 'truncated'],
  },
  'Policies on jobs': {
    verdictsMax: ['Denials, and overrides, of one namespace', ONLY_LATEST],
    judgedJobBytesMax: ['Job that is stored with its verdict', 'the verdict has no job'],
    verdictOutcomesMax: ['Outcomes in a verdict', 'truncated'],
    plannedOutcomesMax: ['Outcomes in a plan', 'truncated'],
    verdictFindingsMax: ['Findings of one outcome', 'truncated'],
    findingCharsMax: ['Text of a finding', 'truncated'],
    overrideCommentCharsMax: ['Comment of an override', REJECTED_400],
    policyRoundsMax: ['Evaluations of policies whose input changes meanwhile', '409'],
    policyTextsMax: ['Policies in the cache', 'evicted'],
    policyTextCharsMax: ['Text of all policies in the cache', 'evicted'],
    policyVariablesMax: ['Variables that policies read', 'the rest is left out'],
    policyVariableCharsMax: ['Text of all variables that policies read', 'the rest is left out'],
  },
  Nodes: {
    agentMessageBytesMax: ['Message of an agent', 'its connection ends'],
    nodeEventsMax: ['Events of a node', ONLY_LATEST],
    nodeNameCharsMax: ['Name of a node', NODE_REJECTED],
    nodeWordCharsMax: ['Name of an attribute, driver or class', NODE_REJECTED],
    nodeTextCharsMax: ['Value of an attribute', NODE_REJECTED],
    nodeAttributesMax: ['Attributes of a node', NODE_REJECTED],
    nodeMetaMax: ['Metadata of a node', NODE_REJECTED],
    nodeDriversMax: ['Drivers of a node', NODE_REJECTED],
    nodePartsMax: ['Networks, devices and volumes of a node', NODE_REJECTED],
    nodeDeviceInstancesMax: ['Device instances of a node', NODE_REJECTED],
    nodeRegistrationBytesMax: ['Registration of a node', NODE_REJECTED],
    nodeHealthTextCharsMax: ['Health description of a driver', 'truncated'],
    nodeCpuMHzMax: ['CPU of a node, in MHz', NODE_REJECTED],
    nodeCoresMax: ['Cores of a node', NODE_REJECTED],
    nodeMemoryMBMax: ['Memory of a node, in MB', NODE_REJECTED],
    nodeDiskMBMax: ['Disk of a node, in MB', NODE_REJECTED],
    nodePoolsMax: ['Node pools that joining nodes create', NODE_REJECTED],
    joinTokenTtlMsMin: ['Shortest lifetime of a join token', REJECTED_400],
    joinTokenTtlMsDefault: ['Lifetime of a join token that names none', '–'],
    joinTokenTtlMsMax: ['Longest lifetime of a join token', REJECTED_400],
    joinTokensMax: ['Join tokens that have not expired', '429'],
    sharedJoinTokenCharsMin: ['Shortest shared join token', 'the server does not start'],
    sharedJoinTokenCharsMax: ['Longest shared join token', 'the server does not start'],
    nodeRevocationsMax: ['Revoked nodes', '400; undo some first'],
    revokeReasonCharsMax: ['Reason of a revocation', REJECTED_400],
    nodeMessagesPerSecond: ['Messages of a node each second', 'its connection is read slowly'],
    nodeMessagesBurst: ['Messages of a node at once', 'its connection is read slowly'],
    nodeBytesPerSecond: ['Bytes of a node each second', 'its connection is read slowly'],
    nodeBytesBurst: ['Bytes of a node at once', 'its connection is read slowly'],
    nodeOverloadMsMax: ['Time a node may exceed its rate', 'its connection ends'],
    nodePenaltyMs: ['Time a node is refused after that', '–'],
    nodeMessagesQueuedMax: ['Messages of a node that wait', 'its connection is not read'],
    nodeHeartbeatsPerSecond: ['Heartbeats of a node each second', 'dropped'],
    nodeHeartbeatsBurst: ['Heartbeats of a node at once', 'dropped'],
    nodeRequestsMax: ['Requests under way to one node', '429'],
    nodeRequestMsMax: ['Time a node has to answer', '504'],
    nodeSlowRequestMsMax: ['The same for a restart or a removal', '504'],
    nodeMigrationsMax: [
      'Allocations of a node that wait for data of others',
      'starts without data',
    ],
    nodeMigrationWaitMsMax: ['Wait for the end of the previous allocation', 'starts without data'],
  },
  Quarantine: {
    nodeLossWindowMs: ['Time between losses of nodes that count together', 'counted anew'],
    startingRunMsMax: ['Age of a task that is blamed for the loss of its node', 'not blamed'],
    harmlessRunMsMin: ['Run of a task after which its start is harmless', '–'],
    harmlessNodesPerLoss: ['Nodes with harmless starts that outweigh a lost one', '–'],
    harmlessAllocationsMax: ['Allocations inspected for harmless starts', 'not inspected'],
    nodeLossDelayMs: ['First delay before a job is placed again', 'doubled for each loss'],
    nodeLossDelayMsMax: ['Longest such delay', '–'],
    nodeLossBatches: ['Batches in which jobs of a lost node are placed again', '–'],
    jobNodeLossesMax: ['Losses of nodes that a job keeps', ONLY_LATEST],
  },
} as const satisfies Readonly<
  Record<string, Readonly<Partial<Record<LimitName, LimitDescription>>>>
>

/** Limits of the HTTP port, by the table that holds them. */
export const PORT_DESCRIPTIONS = {
  tenantBytesMax: ['Unfinished request bodies of one tenant', '429'],
  bytesMax: ['Unfinished request bodies of all tenants', '429'],
  chunksFree: ['First chunks of a body, which may be small', 'the average counts'],
  chunkBytesMin: ['Average size of the chunks of a body', REJECTED_400],
  heldMs: ['Time for which the response to such a body is held back', '–'],
  bytesPerSecondMin: ['Rate at which a body arrives', '408'],
  graceMs: ['Time before that rate is checked', '–'],
  servedMax: ['Requests of one connection that are served at a time', 'others wait'],
  waitingMax: ['Requests of one connection that wait', '429, and the connection ends'],
  waitingInAllMax: ['Requests that wait on all connections', 'the connection ends'],
  lingerMs: ['Time to read responses after that', 'the connection ends'],
} as const satisfies Readonly<
  Record<keyof BodyLimits | keyof PipeliningLimits | keyof typeof CHUNK_LIMITS, LimitDescription>
>

/** Limits of the queue for the event loop. */
export const QUEUE_DESCRIPTIONS = {
  waitingMax: ['Requests that wait for the event loop', '429'],
  waitingPerTenantMax: ['Requests of one tenant that wait for the event loop', '429'],
  batchSizeMax: ['Requests that are started in one tick', 'others wait'],
  tickMs: ['Time after which a tick starts no more', 'others wait'],
} as const satisfies Readonly<Record<keyof SchedulerLimits, LimitDescription>>
