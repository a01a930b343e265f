import { Type } from 'typebox'
import { MapOf, Nullable, type Infer } from '../schema.ts'
import { PAUSE_STATES } from '../v1/allocation.ts'
import { FOLLOWED_LEVELS } from '../v1/agent.ts'
import { CheckResult } from '../v1/client-stats.ts'
import { LOG_TYPES, STREAM_ORIGINS } from '../v1/client-fs.ts'
import { Uuid } from '../v1/shared-schemas.ts'

/**
 * Requests of a server to a node on behalf of a caller. A small response uses the node's own
 * channel; a stream gets a WebSocket of its own, dialled by the node, so that each has its own
 * back-pressure.
 *
 *   agent                               server
 *            ◄──────────────────────── request     with an id; many may be in flight
 *     reply  ──────────────────────────►           with the same id
 *            ◄──────────────────────── open        with an id and a single-use secret
 *     dials NODE_STREAM_PATH/<id>, the secret as its bearer token
 *     stream: opening ─────────────────►           one text: open, or why not
 *             then the data of the verb, until either end closes
 */
export const NODE_STREAM_PATH = '/v1/internal/stream'

/** Maximum size of one message of a stream; a larger one closes the stream. */
export const STREAM_MESSAGE_BYTES_MAX = 256 * 1024

/** Bytes of a file or log in one message. At most 64 KiB. */
export const STREAM_CHUNK_BYTES_MAX = 64 * 1024

const allocation = Uuid()
const task = Type.String()
const path = Type.String({ description: 'Below the directory of the allocation.' })
const offset = Type.Integer({ minimum: 0 })
const origin = Type.Enum(STREAM_ORIGINS)

/** Definition of a dynamic host volume that its node receives. */
export const VolumeOnNode = Type.Object({
  id: Uuid(),
  name: Type.String(),
  namespace: Type.String(),
  plugin: Type.String({ description: 'Empty for a directory that was registered.' }),
  nodePool: Type.String(),
  capacityMinBytes: Type.Integer({ minimum: 0 }),
  capacityMaxBytes: Type.Integer({ minimum: 0 }),
  parameters: MapOf(Type.String()),
  path: Type.String({ description: 'Path on the node; empty until the volume is created.' }),
})
export type VolumeOnNode = Infer<typeof VolumeOnNode>

/** Result of a node that created or found a volume. */
export const MadeVolume = Type.Object({
  path: Type.String({ minLength: 1, maxLength: 4096 }),
  bytes: Type.Integer({ minimum: 0 }),
})
export type MadeVolume = Infer<typeof MadeVolume>

/** Requests with a small response. The server has already checked the caller's permission. */
export const NodeRequest = Type.Union([
  Type.Object({ verb: Type.Literal('signal'), allocation, task, signal: Type.String() }),
  Type.Object({ verb: Type.Literal('restart'), allocation, task, allTasks: Type.Boolean() }),
  Type.Object({ verb: Type.Literal('read-schedule-state'), allocation, task }),
  Type.Object({
    verb: Type.Literal('set-schedule-state'),
    allocation,
    task,
    state: Type.Enum(PAUSE_STATES),
  }),
  Type.Object({ verb: Type.Literal('usage'), allocation, task }),
  Type.Object({ verb: Type.Literal('checks'), allocation }),
  Type.Object({
    verb: Type.Literal('last-output'),
    allocation,
    task,
    ended: Type.Boolean({
      description: 'Of the run that ended last, in place of the present one.',
    }),
  }),
  Type.Object({ verb: Type.Literal('collect'), allocation }),
  Type.Object({ verb: Type.Literal('list'), allocation, path }),
  Type.Object({ verb: Type.Literal('stat'), allocation, path }),
  Type.Object({ verb: Type.Literal('host-usage') }),
  Type.Object({ verb: Type.Literal('host-data') }),
  Type.Object({ verb: Type.Literal('node-usage') }),
  Type.Object({ verb: Type.Literal('collect-all') }),
  Type.Object({ verb: Type.Literal('read-meta') }),
  Type.Object({ verb: Type.Literal('apply-meta'), meta: MapOf(Nullable(Type.String())) }),
  Type.Object({
    verb: Type.Literal('rotate-secret'),
    secret: Uuid('Replaces the secret of the node, which stores it before it replies.'),
  }),
  Type.Object({ verb: Type.Literal('create-volume'), volume: VolumeOnNode }),
  Type.Object({ verb: Type.Literal('register-volume'), volume: VolumeOnNode }),
  Type.Object({ verb: Type.Literal('delete-volume'), volume: VolumeOnNode }),
])
export type NodeRequest = Infer<typeof NodeRequest>

/** Running tasks in one report of usage; the tasks of the newest allocations are left out. */
export const METERED_TASKS_MAX = 500

const Amount = Type.Number({ minimum: 0 })

/** Usage of a node and of its running tasks, for metrics. CPU is that since the last report. */
export const NodeUsageReport = Type.Object({
  host: Type.Object({
    cpuPercent: Amount,
    memoryTotalBytes: Amount,
    memoryAvailableBytes: Amount,
    memoryUsedBytes: Amount,
    memoryFreeBytes: Amount,
    diskSizeBytes: Amount,
    diskUsedBytes: Amount,
    diskAvailableBytes: Amount,
    uptimeSeconds: Amount,
  }),
  tasks: Type.Array(
    Type.Object({
      allocation,
      task,
      cpuPercent: Amount,
      cpuMHz: Amount,
      throttledNs: Amount,
      rssBytes: Amount,
      cacheBytes: Amount,
      swapBytes: Amount,
      usageBytes: Amount,
      maxUsageBytes: Amount,
    }),
    { maxItems: METERED_TASKS_MAX },
  ),
})
export type NodeUsageReport = Infer<typeof NodeUsageReport>

/** Latest output of a task, and the checks that failed at that time. */
export const LastOutput = Type.Object({
  Type: Nullable(Type.Enum(LOG_TYPES, { description: 'Null when it wrote nothing.' })),
  Text: Type.String({ maxLength: 64 * 1024 }),
  Checks: Type.Array(CheckResult, { maxItems: 1_000 }),
})
export type LastOutput = Infer<typeof LastOutput>

/**
 * Entries of one directory that a list shows, and the characters of their names as JSON: one
 * message is at most 8 MiB. A node that has more sends one entry past either bound, so that the
 * server can say that the list is cut.
 */
export const LISTED_FILES_MAX = 10_000
export const LISTED_NAME_CHARS_MAX = 1024 * 1024

/** Number of characters that a name takes as JSON: a control character takes six. */
export function listedNameChars(name: string): number {
  return JSON.stringify(name).length
}

/**
 * Requests that open a stream. `exec` carries exec frames as text, both ways; the others carry
 * bytes from the node only, in frames on request; `take-data` carries the bytes of another node's
 * `data` to this one (channel/data-migration.ts).
 */
export const NodeStreamRequest = Type.Union([
  Type.Object({
    verb: Type.Literal('exec'),
    allocation,
    task,
    command: Type.Array(Type.String(), { minItems: 1 }),
    tty: Type.Boolean(),
  }),
  Type.Object({
    verb: Type.Literal('read'),
    allocation,
    path,
    offset,
    limit: Type.Optional(Type.Integer({ minimum: 0, description: 'All of it when absent.' })),
  }),
  Type.Object({
    verb: Type.Literal('follow'),
    allocation,
    path,
    offset,
    origin,
    follow: Type.Boolean({ description: 'Stay at the end of the file for what comes.' }),
  }),
  Type.Object({
    verb: Type.Literal('logs'),
    allocation,
    task,
    type: Type.Enum(LOG_TYPES),
    offset,
    origin,
    follow: Type.Boolean(),
    framed: Type.Boolean(),
    resume: Type.Optional(
      Type.Object(
        { file: Type.Integer({ minimum: 0 }), offset },
        { description: 'The number of a file and a byte of it; goes before offset and origin.' },
      ),
    ),
  }),
  Type.Object({
    verb: Type.Literal('data'),
    allocation,
    tasks: Type.Array(Type.String(), { description: 'Those whose own data is wanted too.' }),
  }),
  Type.Object({ verb: Type.Literal('take-data'), allocation }),
  Type.Object(
    { verb: Type.Literal('monitor'), level: Type.Enum(FOLLOWED_LEVELS), json: Type.Boolean() },
    { description: 'The log of the agent itself, line by line as it is written.' },
  ),
])
export type NodeStreamRequest = Infer<typeof NodeStreamRequest>

/** Error of a node, as it is reported to the caller. */
export const RemoteError = Type.Object({
  status: Type.Integer({ minimum: 400, maximum: 599, description: 'The HTTP status it means.' }),
  message: Type.String({ maxLength: 64 * 1024 }),
  code: Type.Optional(
    Type.String({
      maxLength: 64,
      description: 'The error code, where the status says too little.',
    }),
  ),
})
export type RemoteError = Infer<typeof RemoteError>

export const RequestMessage = Type.Object({
  kind: Type.Literal('request'),
  id: Type.String(),
  request: NodeRequest,
})
export type RequestMessage = Infer<typeof RequestMessage>

/** Response to a request; also the error of a stream that the node cannot dial. */
export const ReplyMessage = Type.Object({
  kind: Type.Literal('reply'),
  id: Type.String({ maxLength: 64 }),
  ok: Type.Optional(Type.Unknown({ description: 'Response body of the route.' })),
  error: Type.Optional(RemoteError),
})
export type ReplyMessage = Infer<typeof ReplyMessage>

export const OpenMessage = Type.Object({
  kind: Type.Literal('open'),
  stream: Type.String({ description: 'Names the stream; part of the path that is dialled.' }),
  secret: Type.String({ description: 'Proves that this node was asked; good for one dial.' }),
  request: NodeStreamRequest,
})
export type OpenMessage = Infer<typeof OpenMessage>

/** The first message of a stream, a text. */
export const StreamOpening = Type.Object({
  opened: Type.Optional(Type.Literal(true)),
  error: Type.Optional(RemoteError),
})
export type StreamOpening = Infer<typeof StreamOpening>
