import {
  FileInfo,
  HEADERS,
  LISTED_FILES_MAX,
  LISTED_NAME_CHARS_MAX,
  listedNameChars,
  LOG_TYPES,
  STREAM_ORIGINS,
  v1Routes,
  type LogType,
  type NamespaceCapability,
  type NodeStreamRequest,
  type Route,
  type StreamOrigin,
} from '@reeve/contract'
import { Type } from 'typebox'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type AllocationRow, type Refusal } from '../../model/index.ts'
import { findAllocationOnNode } from '../../workload/index.ts'
import { json, TEXT_TYPE, type Answer } from '../answer.ts'
import type { StreamingHost } from './client-allocations.ts'
import { nodeBytes } from './node-bytes.ts'
import { read, type Endpoint, type RequestOf } from './endpoint.ts'
import { asked, jsonOf, nodeAnswer } from './node-answer.ts'
import { somewhere } from './requirements.ts'
import { whileAllowed } from './stream-rights.ts'

const askList = nodeAnswer(Type.Array(FileInfo))
const askStat = nodeAnswer(FileInfo)
const FILES = ['read-fs'] as const
const LOGS = ['read-logs', 'read-fs'] as const

/** Files and logs of an allocation. */
export function clientFileEndpoints(host: StreamingHost): readonly Endpoint[] {
  return [
    read(v1Routes.listFiles, somewhere(...FILES), ({ caller, params, query }) =>
      asked(async () => {
        const found = find(host, caller, { allocId: params.alloc_id, anyOf: FILES })
        if (!found.ok) return found
        const { ID: allocation, NodeID: nodeId } = found.value
        const request = { verb: 'list', allocation, path: query.path || '/' } as const
        const list = await askList(host.gateway, { nodeId, request })
        return list.ok ? ok(listAnswer(list.value)) : list
      }),
    ),
    read(v1Routes.statFile, somewhere(...FILES), ({ caller, params, query }) =>
      asked(async () => {
        const found = find(host, caller, { allocId: params.alloc_id, anyOf: FILES })
        if (!found.ok) return found
        const path = filePath(query.path)
        if (!path.ok) return path
        const { ID: allocation, NodeID: nodeId } = found.value
        const request = { verb: 'stat', allocation, path: path.value } as const
        return jsonOf(await askStat(host.gateway, { nodeId, request }))
      }),
    ),
    ...contentEndpoints(host),
    read(v1Routes.streamFile, somewhere(...FILES), (request) =>
      asked(() => streamFile(host, request)),
    ),
    read(v1Routes.streamLogs, somewhere(...LOGS), (request) =>
      asked(() => streamLogs(host, request)),
    ),
  ]
}

/** A node that has more than may be shown sends one entry past the bounds. */
function listAnswer(files: readonly FileInfo[]): Answer {
  let chars = 0
  const end = files.findIndex(({ Name }, at) => {
    chars += listedNameChars(Name)
    return at >= LISTED_FILES_MAX || chars > LISTED_NAME_CHARS_MAX
  })
  if (end < 0) return json(files)
  return { ...json(files.slice(0, end)), headers: { [HEADERS.truncated]: 'true' } }
}

function contentEndpoints(host: StreamingHost): readonly Endpoint[] {
  return [
    read(v1Routes.readFile, somewhere(...FILES), (told) =>
      asked(() =>
        send(host, told, {
          allocId: told.params.alloc_id,
          anyOf: FILES,
          contentType: BYTES_TYPE,
          request: (allocation) => {
            const path = filePath(told.query.path)
            if (!path.ok) return path
            return ok({ verb: 'read', allocation, path: path.value, offset: 0 })
          },
        }),
      ),
    ),
    read(v1Routes.readFileAt, somewhere(...FILES), (told) =>
      asked(() =>
        send(host, told, {
          allocId: told.params.alloc_id,
          anyOf: FILES,
          contentType: BYTES_TYPE,
          request: (allocation) => partRequest(allocation, told.query),
        }),
      ),
    ),
  ]
}

function partRequest(
  allocation: string,
  query: RequestOf<typeof v1Routes.readFileAt>['query'],
): Result<NodeStreamRequest, Refusal> {
  const path = filePath(query.path)
  if (!path.ok) return path
  const offset = whole('offset', query.offset)
  if (!offset.ok) return offset
  const limit = whole('limit', query.limit ?? 0)
  if (!limit.ok) return limit
  const part = limit.value === 0 ? {} : { limit: limit.value }
  return ok({ verb: 'read', allocation, path: path.value, offset: offset.value, ...part })
}

async function streamFile(
  host: StreamingHost,
  told: RequestOf<typeof v1Routes.streamFile>,
): Promise<Result<Answer, Refusal>> {
  const { params, query } = told
  return await send(host, told, {
    allocId: params.alloc_id,
    anyOf: FILES,
    contentType: 'application/json',
    request: (allocation) => {
      const path = filePath(query.path)
      if (!path.ok) return path
      const from = position(query)
      if (!from.ok) return from
      const follow = query.follow ?? true
      return ok({ verb: 'follow', allocation, path: path.value, ...from.value, follow })
    },
  })
}

async function streamLogs(
  host: StreamingHost,
  told: RequestOf<typeof v1Routes.streamLogs>,
): Promise<Result<Answer, Refusal>> {
  const { params, query } = told
  const { follow = false, plain = false } = query
  return await send(host, told, {
    allocId: params.alloc_id,
    anyOf: LOGS,
    contentType: plain ? TEXT_TYPE : 'application/json',
    request: (allocation) => {
      const task = given(query.task)
      if (task === '') return invalid('must provide task name')
      const type = given(query.type)
      if (!isLogType(type)) return invalid('must provide log type (stdout/stderr)')
      const from = position(query)
      if (!from.ok) return from
      return ok({ verb: 'logs', allocation, task, type, ...from.value, follow, framed: !plain })
    },
  })
}

const BYTES_TYPE = 'application/octet-stream'

interface Sending {
  readonly allocId: string
  readonly anyOf: readonly NamespaceCapability[]
  /** Never one that a browser would show as a page. */
  readonly contentType: string
  /** Made when the caller may: who may not is not told what is wrong with it. */
  readonly request: (allocation: string) => Result<NodeStreamRequest, Refusal>
}

async function send(
  host: StreamingHost,
  { caller, secret }: Pick<RequestOf<Route>, 'caller' | 'secret'>,
  { contentType, request, ...wanted }: Sending,
): Promise<Result<Answer, Refusal>> {
  const found = find(host, caller, wanted)
  if (!found.ok) return found
  const { ID, NodeID, Namespace: namespace } = found.value
  const wish = request(ID)
  if (!wish.ok) return wish
  const { accessorId } = caller
  const stream = await host.gateway.open(NodeID, { request: wish.value, accessorId })
  if (!stream.ok) return stream
  const { context, authenticator } = host
  const allows = allowedIn(namespace, wanted.anyOf)
  const reader = { context, authenticator, secret, allows }
  const bytes = whileAllowed(nodeBytes(stream.value), reader)
  return ok({ body: { kind: 'stream', stream: bytes, contentType } })
}

/** Whether a caller has any one of the capabilities in the namespace. */
export function allowedIn(namespace: string, anyOf: readonly NamespaceCapability[]) {
  return (grants: Caller['grants']): boolean => anyOf.some((one) => grants.allows(namespace, one))
}

function find(
  { context }: StreamingHost,
  caller: Caller,
  wanted: Pick<Sending, 'allocId' | 'anyOf'>,
): Result<AllocationRow, Refusal> {
  if (wanted.allocId === '') return invalid('must provide a valid alloc id')
  return findAllocationOnNode(context, caller, wanted)
}

function filePath(path: string | undefined): Result<string, Refusal> {
  return given(path) === '' ? invalid('must provide a file name') : ok(given(path))
}

/** Where reading begins. */
export function position(query: {
  readonly offset?: number
  readonly origin?: string
}): Result<{ readonly offset: number; readonly origin: StreamOrigin }, Refusal> {
  const origin = STREAM_ORIGINS.find((one) => one === (query.origin || 'start'))
  if (origin === undefined) return invalid('origin must be start or end')
  const offset = whole('offset', query.offset ?? 0)
  return offset.ok ? ok({ offset: offset.value, origin }) : offset
}

/** A required parameter may be absent, whatever its type says: the parser leaves it out. */
function whole(name: string, value: number | undefined): Result<number, Refusal> {
  if (value !== undefined && value >= 0) return ok(value)
  const text = value === undefined ? '' : String(value)
  return invalid(`error parsing ${name}: strconv.ParseInt: parsing "${text}": invalid syntax`)
}

function given(text: string | undefined): string {
  return text ?? ''
}

export function isLogType(text: string): text is LogType {
  return LOG_TYPES.some((type) => type === text)
}

function invalid(message: string): Result<never, Refusal> {
  return err(refusal('invalid-input', message))
}
