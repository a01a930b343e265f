import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  BODY_LIMITS,
  type BodyLimits,
  CHUNK_LIMITS,
  PIPELINING_LIMITS,
  type PipeliningLimits,
  SCHEDULER_LIMITS,
  type SchedulerLimits,
} from '../../http/index.ts'
import { LIMITS } from '../../model/index.ts'
import { installation } from '../installation.ts'
import { limitOptions } from './server-options.ts'
import { describeFilePath, type Option } from './option.ts'
import { options } from './options.ts'

/** The page with the tables of limits; running this file regenerates it. */
export const LIMITS_DOCUMENT = join(installation.root, 'docs/reference/limits.md')

const BEGIN = '<!-- limits: written by packages/reeve/src/main/config/limit-documentation.ts -->'
const END = '<!-- end of limits -->'

/** Replaces the tables of the page with those of the current limits. */
export function replaceTables(page: string): string {
  const begin = page.indexOf(BEGIN)
  const end = page.indexOf(END)
  if (begin === -1 || end < begin) throw new Error(`the page has no place for the tables: ${BEGIN}`)
  return `${page.slice(0, begin + BEGIN.length)}\n${renderTables()}${page.slice(end)}`
}

/** What happens when a setting is exceeded. Except for connections, callers get an HTTP error. */
const EXCEEDED_TEXT: Readonly<Record<string, string>> = {
  limitConnections: 'the connection is closed at once',
  requestsPerSecond: '429 with `X-RateLimit-Reset`',
}
const REJECTED = '429 with `Retry-After`; the text names the setting'

function renderTables(): string {
  const settings: [string, Option<unknown>][] = [
    ...Object.entries(limitOptions),
    ['requestsPerSecond', options.requestsPerSecond],
  ]
  const rows = settings.map(([key, { file, byDefault, help }]) => [
    `\`${describeFilePath(file ?? [])}\``,
    byDefault.text,
    help,
    EXCEEDED_TEXT[key] ?? REJECTED,
  ])
  const port = { ...BODY_LIMITS, ...CHUNK_LIMITS, ...PIPELINING_LIMITS }
  return [
    renderSection('Settings', ['Setting', 'Default', 'Bounds', 'Past it'], rows),
    renderFixedLimits('Bodies and connections', PORT_DESCRIPTIONS, port),
    renderFixedLimits('Queue for the event loop', QUEUE_DESCRIPTIONS, { ...SCHEDULER_LIMITS }),
    ...Object.entries(LIMIT_DESCRIPTIONS).map(([title, described]) =>
      renderFixedLimits(title, described, LIMITS),
    ),
  ].join('')
}

function renderFixedLimits(
  title: string,
  described: Readonly<Record<string, LimitDescription>>,
  values: Readonly<Record<string, unknown>>,
): string {
  const rows = Object.entries(described).map(([name, [bounds, past]]) => [
    `\`${name}\``,
    formatLimit(name, values[name]),
    bounds,
    past,
  ])
  return renderSection(title, ['Limit', 'Value', 'Bounds', 'Past it'], rows)
}

function renderSection(
  title: string,
  head: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  return `\n## ${title}\n\n${lines.join('\n')}\n`
}

/** Formats a limit. The unit is the suffix of its name, or precedes a suffix such as `Max`. */
function formatLimit(name: string, value: unknown): string {
  if (typeof value === 'object' && value !== null)
    return Object.entries(value)
      .map(([part, one]) => formatLimit(part, one))
      .join(', ')
  if (typeof value !== 'number') throw new Error(`the limit ${name} is no number`)
  if (/Ms(Max|Min|Default)?$/.test(name)) return formatDuration(value)
  if (/Megabytes/.test(name)) return formatBytes(value * 1024 * 1024)
  if (/(Bytes|bytes)/.test(name)) return formatBytes(value)
  return value.toLocaleString('en-US')
}

const TIME_UNITS = [
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
  [1, 'ms'],
] as const

function formatDuration(ms: number): string {
  const [size, unit] = TIME_UNITS.find(([one]) => ms % one === 0 && ms >= one) ?? [1, 'ms']
  return `${ms / size} ${unit}`
}

const BYTE_UNITS = [
  [1024 * 1024 * 1024, 'GiB'],
  [1024 * 1024, 'MiB'],
  [1024, 'KiB'],
] as const

function formatBytes(bytes: number): string {
  const found = BYTE_UNITS.find(([one]) => bytes % one === 0)
  if (found === undefined) return `${bytes.toLocaleString('en-US')} bytes`
  const [size, unit] = found
  return `${bytes / size} ${unit}`
}

const REJECTED_400 = '400'
const OLDEST_DROPPED = 'older ones are dropped'
const NODE_REJECTED = 'the registration of the node is rejected'

/**
 * Descriptions of the fixed limits of a server by subject, for docs/reference/limits.md. A test
 * fails if one is missing.
 */
export const LIMIT_DESCRIPTIONS = {
  Requests: {
    bodyBytesMax: ['Body of a request on `/v1`, and of JSON on `/api/v2`, decompressed', '413'],
    blobPartBytes: ['Size of the parts in which states, plans and archives are stored', 'split'],
    stateReadTimeoutMs: ['Time to read and index an uploaded state', '422'],
    stateReadMegabytesMax: ['Memory of the thread that does', '422'],
    stateReadMemoryShare: ['Share of it that a state may take by the number of its values', '422'],
    inlineBodyBytesMax: [
      'JSON body of `/api/v2` that the event loop parses; also `run` and `params` of policy trials',
      'a larger body is parsed on a thread; larger `run` and `params` are 422',
    ],
    largeBodyTimeoutMs: ['Time to parse and validate such a larger body', '422'],
    largeBodyMegabytesMax: ['Memory of the thread that does', '422'],
    largeBodiesWaitingPerTenantMax: ['Such bodies of one tenant that wait for the thread', '429'],
    largeBodiesWaitingMax: ['Such bodies of all tenants', '429'],
    largeBodyWaitTimeoutMs: ['Wait for the thread', '429'],
    planPartBytes: ['Bytes of an uploaded plan that one commit stores', 'it is stored in parts'],
    jsonBodyDepthMax: ['Nesting of the JSON of a body', REJECTED_400],
    jsonContainersMax: ['Objects and lists in the JSON of a body', REJECTED_400],
    jsonShapesMax: ['Different names in the JSON of a body', REJECTED_400],
    jsonDepthMax: ['Nesting of free-form JSON, such as the `config` of a task', REJECTED_400],
    urlBytesMax: ['URL with its query', '414'],
    pathParamCharsMax: ['One segment of a path', '414'],
    headerBytesMax: ['Headers beside the longest URL', '431, and the connection ends'],
    requestTimeoutMs: ['Time to send a request', '408, and the connection ends'],
    headTimeoutMs: ['Time to send its headers', '408, and the connection ends'],
    perPageMax: ['Items of a page, as `per_page` says', REJECTED_400],
    filteredRowsMax: [
      'Rows that the `filter` of one page rejects',
      'the page ends, perhaps without an item, and the next token continues there',
    ],
    wholeListCharsMax: [
      'Characters of a list without pages that is built in memory',
      'the list is sent as it is read',
    ],
    sliceMsMax: ['Event-loop time of one slice of a long computation', 'others have their turn'],
  },
  'Blocking queries and streams': {
    waitMsDefault: ['Wait of a blocking query that names none', 'the present result is sent'],
    waitMsMax: ['Longest wait of a blocking query', 'the wait is shortened'],
    waitJitterShare: ['Share of the wait that is added at random', '–'],
    parkedQueriesMax: ['Blocking queries that wait on one server', 'one more is answered at once'],
    parkedQueriesPerTurn: ['Queries of one tenant that go on in one turn', 'the next turn'],
    wokenBytesPerTurn: ['Bytes that such queries send in one turn', 'the next turn'],
    sharedResponsesMax: [
      'Responses kept for identical queries that one commit has woken',
      'the response is computed again',
    ],
    sharedResponseBytesMax: ['Bytes of those responses', 'the response is computed again'],
    sharedResponseMs: ['Time for which such a response is kept', 'the response is computed again'],
    eventStreamsPerToken: ['Default of `limits.event_streams_per_token`', '429'],
    execSessionsPerToken: ['Default of `limits.exec_sessions_per_token`', '429'],
    logStreamsPerToken: ['Default of `limits.log_streams_per_token`', '429'],
    serverLogFollowersMax: ['Readers of one token that follow the log of a server', '429'],
    streamBacklogBytesMax: [
      'Bytes of an event stream that its reader has not read',
      'the stream ends; the reader continues with `index`',
    ],
    nodeStreamsMax: ['Exec, log and file streams open to one node', '429'],
    nodeStreamOpenTimeoutMs: ['Time a node has to begin a stream', '504'],
    nodeStreamBytesPerSecond: ['Bytes of all streams of a token each second', 'read more slowly'],
    nodeStreamBytesBurst: ['Bytes of all streams of a token at once', 'read more slowly'],
    nodeStreamBuffers: [
      'Buffers of streams: most of one, least of one, of all',
      'the sender waits',
    ],
    nodeStreamPingMs: ['Time between signs of life on a stream', '–'],
    nodeStreamIdleTimeoutMs: ['Silence of a stream', 'the stream ends'],
    webSocketPingsMax: ['Pings of a WebSocket peer at once', 'the connection ends'],
    webSocketPingsPerSecond: ['Pings of a WebSocket peer each second', 'the connection ends'],
    execHandshakeTimeoutMs: ['Time for the first frame of an exec session', 'the session ends'],
    execFrameBytesMax: ['Frame of an exec session', 'the session ends'],
    execMergeMs: ['Time in which frames of an exec client are merged into one', '–'],
    execMergedBytesMax: ['Input in one merged frame', 'the frame is sent'],
    execFramesPerSecond: ['Frames that exec clients of one token send each second', 'they wait'],
    execThrottleMs: ['Least wait of frames beyond that', '–'],
    forwardTimeoutMs: ['Time until another region begins its response', '503 with its name'],
    forwardAttemptTimeoutMs: ['Time until the next server of a region is tried', '–'],
    forwardSilenceMs: ['Time without a byte until a server of another region is probed', '–'],
    forwardProbeTimeoutMs: ['Time for the response to that probe', '503, and streams end'],
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
    inlineInstancesMax: [
      'Instances of a job that is placed by the commit that registers it',
      'the job is placed by an evaluation of its own',
    ],
    placementsPerPlanMax: ['Allocations that one plan places', 'another plan places the rest'],
    taskNameBytesMax: ['Name of a task', REJECTED_400],
    taskEventsMax: ['Events of a task', OLDEST_DROPPED],
    jobVersionsMax: ['Versions of a job without a tag', OLDEST_DROPPED],
    jobSourcesMax: ['Sources of a job', OLDEST_DROPPED],
    jobMessageCharsMax: ['Message of a version of a job', REJECTED_400],
    jobSourceBytesMax: ['Source of a job', 'the job is registered without it'],
    jobTagsMax: ['Tagged versions of a job', REJECTED_400],
    tagDescriptionCharsMax: ['Description of a tag', REJECTED_400],
    jobCountMax: ['Instances of a job', REJECTED_400],
    jobPartsMax: ['Groups and tasks of a job', REJECTED_400],
    jobEntriesMax: ['Entries of all lists and maps of a job', REJECTED_400],
    constraintCharsMax: ['Operand of a constraint or affinity', REJECTED_400],
    patternInstructionsMax: ['Size of the regular expressions of a job', REJECTED_400],
    failureReasonCharsMax: [
      'Output of a check or event of a task quoted by a failed deployment',
      'the rest is cut off',
    ],
    shownNameCharsMax: ['Characters of a rejected name in its message', 'the rest is cut off'],
    jobProblemsMax: ['Problems of a job that are listed', 'the rest is counted'],
    dispatchPayloadBytesMax: ['Payload of a dispatch', REJECTED_400],
    periodicSpecsMax: ['Cron expressions of a job', REJECTED_400],
    scalingEventsMax: ['Scaling events of a group', OLDEST_DROPPED],
    scalingEventCharsMax: ['Message and metadata of a scaling event', REJECTED_400],
    deletedEvaluationsMax: ['Evaluations that one request deletes', REJECTED_400],
    parsedJobCharsMax: ['Job that a job file describes', REJECTED_400],
    jobFileTimeoutMs: ['Time to parse a job file', REJECTED_400],
    jobFileMegabytesMax: ['Memory of the thread that parses job files', REJECTED_400],
    jobFilesWaitingPerTenantMax: ['Job files of one token that wait', '429'],
    jobFilesWaitingMax: ['Job files that wait on one server', '429'],
    jobFileWaitTimeoutMs: ['Time that a job file waits', '429'],
    smallPlanInstancesMax: ['Instances of a plan that does not wait for its turn', 'it waits'],
    largePlansRunningMax: ['Larger plans at a time', 'others wait'],
    largePlansWaitingPerTenantMax: ['Larger plans of one token that wait', '429'],
    largePlansWaitingMax: ['Larger plans that wait on one server', '429'],
    largePlanWaitTimeoutMs: ['Time that a larger plan waits', '429'],
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
    policyDecisionsMax: ['Denials, and overrides, of one namespace', OLDEST_DROPPED],
    evaluatedJobBytesMax: ['Job that is stored with its verdict', 'the verdict has no job'],
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
    metricSeriesMax: [
      'Values of jobs and nodes in one answer with metrics',
      'further jobs are left out',
    ],
    unidentifiedNodesMax: ['Connections that have not sent their first message', '503'],
    nodeHelloTimeoutMs: ['Time for the first message of an agent', 'its connection ends'],
    nodeHelloBytesMax: ['First message of an agent', 'its connection ends'],
    metricTasksMax: [
      'Tasks whose CPU and memory are in one answer with metrics; 500 of one node',
      'further tasks are left out',
    ],
    agentMessageBytesMax: ['Message of an agent', 'its connection ends'],
    nodeEventsMax: ['Events of a node', OLDEST_DROPPED],
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
    hostVolumesMax: ['Dynamic host volumes of the cluster', 'the volume is rejected'],
    hostVolumesPerNodeMax: ['Volumes of a node, configured and dynamic', 'the volume is rejected'],
    hostVolumePathCharsMax: ['Path of a dynamic host volume', 'the volume is rejected'],
    hostVolumeParametersMax: ['Parameters of a dynamic host volume', 'the volume is rejected'],
    hostVolumeParameterCharsMax: [
      'One parameter of a dynamic host volume',
      'the volume is rejected',
    ],
    hostVolumeParametersBytesMax: [
      'All parameters of a dynamic host volume as JSON',
      'the volume is rejected',
    ],
    hostVolumeConstraintsMax: ['Constraints of a dynamic host volume', 'the volume is rejected'],
    volumePluginTimeoutMs: ['Time of a volume plugin to make or remove a volume', 'it is killed'],
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
    nodeRequestTimeoutMs: ['Time a node has to answer', '504'],
    nodeSlowRequestTimeoutMs: ['The same for a restart or a removal', '504'],
    nodeMigrationsMax: [
      'Allocations of a node that wait for data of others',
      'starts without data',
    ],
    nodeMigrationWaitTimeoutMs: [
      'Wait for the end of the previous allocation',
      'starts without data',
    ],
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
    jobNodeLossesMax: ['Losses of nodes that a job keeps', OLDEST_DROPPED],
  },
} as const satisfies Readonly<
  Record<string, Readonly<Partial<Record<LimitName, LimitDescription>>>>
>

/** Descriptions of the limits of the HTTP port, by the table that defines them. */
const PORT_DESCRIPTIONS = {
  tenantBytesMax: ['Unfinished request bodies of one tenant', '429'],
  bytesMax: ['Unfinished request bodies of all tenants', '429'],
  chunksFree: ['First chunks of a body, which may be small', 'the average counts'],
  chunkBytesMin: ['Average size of the chunks of a body', REJECTED_400],
  heldMs: ['Time for which the response to such a body is held back', '–'],
  bytesPerSecondMin: ['Rate at which a body arrives', '408'],
  graceMs: ['Time before that rate is checked', '–'],
  servedMax: ['Requests of one connection that are served at a time', 'others wait'],
  waitingMax: ['Requests of one connection that wait', '429, and the connection ends'],
  waitingTotalMax: ['Requests that wait on all connections', 'the connection ends'],
  lingerMs: ['Time to read responses after that', 'the connection ends'],
} as const satisfies Readonly<
  Record<keyof BodyLimits | keyof PipeliningLimits | keyof typeof CHUNK_LIMITS, LimitDescription>
>

/** Descriptions of the limits of the queue for the event loop. */
const QUEUE_DESCRIPTIONS = {
  waitingMax: ['Requests that wait for the event loop', '429'],
  waitingPerTenantMax: ['Requests of one tenant that wait for the event loop', '429'],
  batchSizeMax: ['Requests that are started in one tick', 'others wait'],
  tickMs: ['Time after which a tick starts no more', 'others wait'],
} as const satisfies Readonly<Record<keyof SchedulerLimits, LimitDescription>>

if (import.meta.main)
  writeFileSync(LIMITS_DOCUMENT, replaceTables(readFileSync(LIMITS_DOCUMENT, 'utf8')))

/** What a limit bounds, and what happens when it is exceeded. */
type LimitDescription = readonly [bounds: string, past: string]

type LimitName = keyof typeof LIMITS
