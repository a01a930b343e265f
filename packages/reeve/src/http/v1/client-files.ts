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
  type Job,
} from '@reeve/contract'
import { Type } from 'typebox'
import type { Caller } from '../../acl/index.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type AllocationRow, type Refusal, invalidInput } from '../../model/index.ts'
import { namespacedKey } from '../../state/index.ts'
import {
  ALL_LOG_TYPES,
  findAllocationOnNode,
  isJobFinished,
  jobLogSources,
} from '../../workload/index.ts'
import { json, TEXT_PLAIN, type HttpResponse } from '../response.ts'
import type { StreamingHost } from './client-operations.ts'
import { jsonResult, nodeRpc, unwatchedRead } from './node-rpc.ts'
import { read, type Endpoint, type V1Request } from './endpoint.ts'
import { inAnyNamespace, inNamespace } from './access.ts'
import { closeOnRevoke, JobLogStream, readableFromNode } from '../../sessions/index.ts'

const askList = nodeRpc(Type.Array(FileInfo))
const askStat = nodeRpc(FileInfo)
const FILE_CAPABILITIES = ['read-fs'] as const
const LOG_CAPABILITIES = ['read-logs', 'read-fs'] as const

/** Returns the routes for files and logs of an allocation. */
export function clientFileEndpoints(host: StreamingHost): readonly Endpoint[] {
  return [
    read(v1Routes.listFiles, inAnyNamespace(...FILE_CAPABILITIES), ({ caller, params, query }) =>
      unwatchedRead(async () => {
        const found = findOnNode(host, caller, {
          allocId: params.alloc_id,
          anyOf: FILE_CAPABILITIES,
        })
        if (!found.ok) return found
        const { ID: allocation, NodeID: nodeId } = found.value
        const request = { verb: 'list', allocation, path: query.path || '/' } as const
        const list = await askList(host.gateway, { nodeId, request })
        return list.ok ? ok(fileListResponse(list.value)) : list
      }),
    ),
    read(v1Routes.statFile, inAnyNamespace(...FILE_CAPABILITIES), ({ caller, params, query }) =>
      unwatchedRead(async () => {
        const found = findOnNode(host, caller, {
          allocId: params.alloc_id,
          anyOf: FILE_CAPABILITIES,
        })
        if (!found.ok) return found
        const path = filePath(query.path)
        if (!path.ok) return path
        const { ID: allocation, NodeID: nodeId } = found.value
        const request = { verb: 'stat', allocation, path: path.value } as const
        return jsonResult(await askStat(host.gateway, { nodeId, request }))
      }),
    ),
    ...contentEndpoints(host),
    read(v1Routes.streamFile, inAnyNamespace(...FILE_CAPABILITIES), (request) =>
      unwatchedRead(() => streamFile(host, request)),
    ),
    read(v1Routes.streamLogs, inAnyNamespace(...LOG_CAPABILITIES), (request) =>
      unwatchedRead(() => streamLogs(host, request)),
    ),
  ]
}

/** Truncates a list; a node with more files sends one entry beyond the limit. */
function fileListResponse(files: readonly FileInfo[]): HttpResponse {
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
    read(v1Routes.readFile, inAnyNamespace(...FILE_CAPABILITIES), (apiRequest) =>
      unwatchedRead(() =>
        openStream(host, apiRequest, {
          allocId: apiRequest.params.alloc_id,
          anyOf: FILE_CAPABILITIES,
          contentType: BYTES_TYPE,
          request: (allocation) => {
            const path = filePath(apiRequest.query.path)
            if (!path.ok) return path
            return ok({ verb: 'read', allocation, path: path.value, offset: 0 })
          },
        }),
      ),
    ),
    read(v1Routes.readFileAt, inAnyNamespace(...FILE_CAPABILITIES), (apiRequest) =>
      unwatchedRead(() =>
        openStream(host, apiRequest, {
          allocId: apiRequest.params.alloc_id,
          anyOf: FILE_CAPABILITIES,
          contentType: BYTES_TYPE,
          request: (allocation) => readRequest(allocation, apiRequest.query),
        }),
      ),
    ),
  ]
}

function readRequest(
  allocation: string,
  query: V1Request<typeof v1Routes.readFileAt>['query'],
): Result<NodeStreamRequest, Refusal> {
  const path = filePath(query.path)
  if (!path.ok) return path
  const offset = parseUnsigned('offset', query.offset)
  if (!offset.ok) return offset
  const limit = parseUnsigned('limit', query.limit ?? 0)
  if (!limit.ok) return limit
  const range = limit.value === 0 ? {} : { limit: limit.value }
  return ok({ verb: 'read', allocation, path: path.value, offset: offset.value, ...range })
}

async function streamFile(
  host: StreamingHost,
  apiRequest: V1Request<typeof v1Routes.streamFile>,
): Promise<Result<HttpResponse, Refusal>> {
  const { params, query } = apiRequest
  return await openStream(host, apiRequest, {
    allocId: params.alloc_id,
    anyOf: FILE_CAPABILITIES,
    contentType: 'application/json',
    request: (allocation) => {
      const path = filePath(query.path)
      if (!path.ok) return path
      const from = parsePosition(query)
      if (!from.ok) return from
      const follow = query.follow ?? true
      return ok({ verb: 'follow', allocation, path: path.value, ...from.value, follow })
    },
  })
}

async function streamLogs(
  host: StreamingHost,
  apiRequest: V1Request<typeof v1Routes.streamLogs>,
): Promise<Result<HttpResponse, Refusal>> {
  const { params, query } = apiRequest
  const { follow = false, plain = false } = query
  return await openStream(host, apiRequest, {
    allocId: params.alloc_id,
    anyOf: LOG_CAPABILITIES,
    contentType: plain ? TEXT_PLAIN : 'application/json',
    request: (allocation) => {
      const task = orEmpty(query.task)
      if (task === '') return invalidInput('must provide task name')
      const type = orEmpty(query.type)
      if (!isLogType(type)) return invalidInput('must provide log type (stdout/stderr)')
      const from = parsePosition(query)
      if (!from.ok) return from
      return ok({ verb: 'logs', allocation, task, type, ...from.value, follow, framed: !plain })
    },
  })
}

const BYTES_TYPE = 'application/octet-stream'

interface StreamRequest {
  readonly allocId: string
  readonly anyOf: readonly NamespaceCapability[]
  /** Never a type that a browser would render as a page. */
  readonly contentType: string
  /** Called only for authorized callers: others do not learn what is wrong with the request. */
  readonly request: (allocation: string) => Result<NodeStreamRequest, Refusal>
}

async function openStream(
  host: StreamingHost,
  { caller, token }: Pick<V1Request<Route>, 'caller' | 'token'>,
  { contentType, request, ...selector }: StreamRequest,
): Promise<Result<HttpResponse, Refusal>> {
  const found = findOnNode(host, caller, selector)
  if (!found.ok) return found
  const { ID, NodeID, Namespace: namespace } = found.value
  const nodeRequest = request(ID)
  if (!nodeRequest.ok) return nodeRequest
  const { accessorId } = caller
  const stream = await host.gateway.open(NodeID, { request: nodeRequest.value, accessorId })
  if (!stream.ok) return stream
  const { context, authenticator } = host
  const allows = allowedIn(namespace, selector.anyOf)
  const reader = { context, authenticator, secret: token, isAllowed: allows }
  const bytes = closeOnRevoke(readableFromNode(stream.value), reader)
  return ok({ body: { kind: 'stream', stream: bytes, contentType } })
}

/** Returns a check for any one of the capabilities in the namespace. */
function allowedIn(namespace: string, anyOf: readonly NamespaceCapability[]) {
  return (grants: Caller['grants']): boolean => anyOf.some((one) => grants.allows(namespace, one))
}

function findOnNode(
  { context }: StreamingHost,
  caller: Caller,
  selector: Pick<StreamRequest, 'allocId' | 'anyOf'>,
): Result<AllocationRow, Refusal> {
  if (selector.allocId === '') return invalidInput('must provide a valid alloc id')
  return findAllocationOnNode(context, caller, selector)
}

function filePath(path: string | undefined): Result<string, Refusal> {
  return orEmpty(path) === '' ? invalidInput('must provide a file name') : ok(orEmpty(path))
}

/** Parses the start position of a read. */
function parsePosition(query: {
  readonly offset?: number
  readonly origin?: string
}): Result<{ readonly offset: number; readonly origin: StreamOrigin }, Refusal> {
  const origin = STREAM_ORIGINS.find((one) => one === (query.origin || 'start'))
  if (origin === undefined) return invalidInput('origin must be start or end')
  const offset = parseUnsigned('offset', query.offset ?? 0)
  return offset.ok ? ok({ offset: offset.value, origin }) : offset
}

/** Required parameters may be missing in spite of their type: the parser omits them. */
function parseUnsigned(name: string, value: number | undefined): Result<number, Refusal> {
  if (value !== undefined && value >= 0) return ok(value)
  const text = value === undefined ? '' : String(value)
  return invalidInput(`error parsing ${name}: strconv.ParseInt: parsing "${text}": invalid syntax`)
}

function orEmpty(text: string | undefined): string {
  return text ?? ''
}

function isLogType(text: string): text is LogType {
  return LOG_TYPES.some((type) => type === text)
}

/** Time for which changes of allocations are collected before new ones are looked up. */
const DEBOUNCE_MS = 250

/** Returns the route that streams the output of a whole job, as its allocations start and stop. */
export function jobLogEndpoints(host: StreamingHost): readonly Endpoint[] {
  return [
    read(v1Routes.streamJobLogs, inNamespace(...LOG_CAPABILITIES), (request) =>
      unwatchedRead(async () => streamJobLogs(host, request)),
    ),
  ]
}

function streamJobLogs(
  { context, gateway, authenticator }: StreamingHost,
  { caller, token, namespace, params, query }: V1Request<typeof v1Routes.streamJobLogs>,
): Result<HttpResponse, Refusal> {
  const { store, clock } = context
  const types = parseLogTypes(query.type ?? '')
  if (!types.ok) return types
  const from = parsePosition(query)
  if (!from.ok) return from
  const jobId = params.job_id
  const job = store.tables.jobs.find(namespacedKey(namespace, jobId))
  if (job === undefined) return err(refusal('job-not-found', 'job not found'))
  const task = query.task ?? ''
  const selection = { namespace, jobId, task, types: types.value }
  // A task of an earlier version still has its output.
  const isKnown = hasTask(job, task) || jobLogSources(context, selection).length > 0
  if (!isKnown) return err(refusal('invalid-input', `unknown task name ${JSON.stringify(task)}`))
  const merge = new JobLogStream({
    gateway,
    clock,
    accessorId: caller.accessorId,
    follow: query.follow ?? false,
    hasPrefix: query.prefix ?? false,
    from: from.value,
    sources: () => jobLogSources(context, selection),
    isOver: () => isJobFinished(context, selection),
    watch: (changed) => {
      let cancel = store.watches.watch([{ table: 'allocations' }, { table: 'jobs' }], () => {
        cancel = clock.after(DEBOUNCE_MS, changed)
      })
      return () => cancel()
    },
  })
  merge.start()
  const allows = allowedIn(namespace, LOG_CAPABILITIES)
  const reader = { context, authenticator, secret: token, isAllowed: allows }
  const output = closeOnRevoke(merge.output, reader)
  return ok({ body: { kind: 'stream', stream: output, contentType: TEXT_PLAIN } })
}

function hasTask({ TaskGroups }: Job, name: string): boolean {
  return name === '' || (TaskGroups ?? []).some(({ Tasks }) => Tasks?.some((t) => t.Name === name))
}

function parseLogTypes(text: string): Result<readonly LogType[], Refusal> {
  if (text === '') return ok(ALL_LOG_TYPES)
  if (isLogType(text)) return ok([text])
  return err(refusal('invalid-input', 'must provide log type (stdout/stderr)'))
}
