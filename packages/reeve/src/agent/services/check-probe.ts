import { request as httpRequest } from 'node:http'
import {
  connect as connectHttp2,
  constants,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
} from 'node:http2'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { AgentCheck } from '../assignment.ts'
import type { ExecRequest, ExecSession } from '../driver.ts'
import type { Endpoint, PlannedCheck } from './plan-services.ts'

/** Result of one run of a check. */
export interface CheckOutcome {
  readonly outcome: 'passing' | 'warning' | 'failing'
  readonly output: string
  /** Status code of the HTTP response. */
  readonly statusCode?: number
}

interface CheckOptions {
  /** Aborted on timeout, or when the check is stopped. */
  readonly signal: AbortSignal
  /** Runs a command in the environment of the check's task. */
  readonly exec: (request: ExecRequest) => Promise<ExecSession>
}

/** Characters of the output that are kept. */
export const CHECK_OUTPUT_CHARS_MAX = 3 * 1024
/** Bytes of the response that are read. */
const BODY_BYTES_MAX = 64 * 1024

/** Runs a check once. Never rejects: errors become a failing result. */
export async function runCheck(
  planned: PlannedCheck,
  options: CheckOptions,
): Promise<CheckOutcome> {
  try {
    return await runCheckByType(planned, options)
  } catch (thrown) {
    const reason = options.signal.aborted ? 'the check took too long' : errorMessage(thrown)
    return failedOutcome(reason)
  }
}

function runCheckByType(
  { check, at: endpoint }: PlannedCheck,
  options: CheckOptions,
): Promise<CheckOutcome> {
  if (check.Type === 'script') return checkByScript(check, options)
  if (endpoint === undefined) return Promise.resolve(failedOutcome('the check has no address'))
  if (check.Type === 'http') return checkHttp(check, endpoint, options)
  if (check.Type === 'tcp') return checkTcp(endpoint, options)
  if (check.Type === 'grpc') return checkGrpc(check, endpoint, options)
  return Promise.resolve(
    failedOutcome(`this agent has no checks of type ${JSON.stringify(check.Type)}`),
  )
}

function failedOutcome(output: string): CheckOutcome {
  return { outcome: 'failing', output: output.slice(0, CHECK_OUTPUT_CHARS_MAX) }
}

/** HTTP check: 2xx and 3xx pass. Redirects are not followed. */
function checkHttp(
  check: PlannedCheck['check'],
  endpoint: Endpoint,
  { signal }: CheckOptions,
): Promise<CheckOutcome> {
  const isHttps = check.Protocol.toLowerCase() === 'https'
  const headers = Object.fromEntries(
    Object.entries(check.Header ?? {}).map(([name, values]) => [name, [...values]]),
  )
  return new Promise((resolve, reject) => {
    const settings = {
      host: endpoint.address,
      port: endpoint.port,
      path: check.Path.startsWith('/') ? check.Path : `/${check.Path}`,
      method: check.Method || 'GET',
      headers,
      // A new connection per check: an open one would not show that requests are served.
      agent: false,
      signal,
    } as const
    const request = isHttps
      ? httpsRequest({
          ...settings,
          rejectUnauthorized: !check.TLSSkipVerify,
          ...(check.TLSServerName === '' ? {} : { servername: check.TLSServerName }),
        })
      : httpRequest(settings)
    request.on('error', reject)
    request.on('response', (response) => {
      const statusCode = response.statusCode ?? 0
      const outcome = statusCode >= 200 && statusCode < 400 ? 'passing' : 'failing'
      const outcomePromise = readBounded(response).then((output): CheckOutcome => ({
        outcome,
        output,
        statusCode,
      }))
      outcomePromise.finally(() => request.destroy()).then(resolve, reject)
    })
    request.end(check.Body)
  })
}

async function checkGrpc(
  check: PlannedCheck['check'],
  endpoint: Endpoint,
  { signal }: CheckOptions,
): Promise<CheckOutcome> {
  const { isServing, output } = await checkGrpcHealth(check, endpoint, signal)
  return isServing ? { outcome: 'passing', output } : failedOutcome(output)
}

function checkTcp(endpoint: Endpoint, { signal }: CheckOptions): Promise<CheckOutcome> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: endpoint.address, port: endpoint.port })
    const stop = (): void => void socket.destroy(new Error('the check took too long'))
    signal.addEventListener('abort', stop, { once: true })
    socket.on('error', reject)
    socket.on('close', () => signal.removeEventListener('abort', stop))
    socket.on('connect', () => {
      socket.destroy()
      resolve({ outcome: 'passing', output: `connected to ${endpoint.address}:${endpoint.port}` })
    })
    if (signal.aborted) stop()
  })
}

/** Script check: exit code 0 passes, 1 is a warning, anything else fails. */
async function checkByScript(
  { Command, Args }: PlannedCheck['check'],
  { signal, exec }: CheckOptions,
): Promise<CheckOutcome> {
  const session = await exec({ command: [Command, ...(Args ?? [])], tty: undefined })
  const stop = (): void => session.hangUp()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  session.stdin.on('error', () => undefined)
  session.stdin.end()
  const timedOut = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the check took too long')), {
      once: true,
    })
  })
  timedOut.catch(() => undefined)
  const finished = Promise.all([
    readBounded(session.stdout),
    readBounded(session.stderr),
    session.exited,
  ])
  finished.catch(() => undefined)
  try {
    const [stdout, stderr, code] = await Promise.race([finished, timedOut])
    const output = `${stdout}${stderr}`.slice(0, CHECK_OUTPUT_CHARS_MAX)
    return { outcome: code === 0 ? 'passing' : code === 1 ? 'warning' : 'failing', output }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** Reads the beginning of a stream; the rest is discarded up to a limit. */
async function readBounded(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    // Streams of bytes give Buffers.
    const part = chunk as Buffer
    if (bytes < CHECK_OUTPUT_CHARS_MAX) chunks.push(part)
    bytes += part.length
    if (bytes > BODY_BYTES_MAX) break
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, CHECK_OUTPUT_CHARS_MAX)
}

/** Result of a grpc.health.v1 call. */
interface GrpcHealth {
  readonly isServing: boolean
  readonly output: string
}

/** grpc.health.v1.HealthCheckResponse.ServingStatus. */
const SERVING_STATUSES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const

/** Limit of the response, which has seven bytes. */
const RESPONSE_BYTES_MAX = 1_024
/** Length of the prefix of a gRPC message: a flag and four bytes of length. */
const MESSAGE_PREFIX_BYTES = 5

/** Calls `grpc.health.v1.Health/Check` once. Rejects if there is no response. */
async function checkGrpcHealth(
  check: AgentCheck,
  endpoint: Endpoint,
  signal: AbortSignal,
): Promise<GrpcHealth> {
  const scheme = check.GRPCUseTLS === true ? 'https' : 'http'
  const host = endpoint.address.includes(':') ? `[${endpoint.address}]` : endpoint.address
  const session = connectHttp2(`${scheme}://${host}:${endpoint.port}`, {
    rejectUnauthorized: !check.TLSSkipVerify,
    ...(check.TLSServerName === '' ? {} : { servername: check.TLSServerName }),
  })
  try {
    return await callHealthCheck(session, check.GRPCService ?? '', signal)
  } finally {
    session.destroy()
  }
}

function callHealthCheck(
  session: ClientHttp2Session,
  service: string,
  signal: AbortSignal,
): Promise<GrpcHealth> {
  return new Promise((resolve, reject) => {
    session.on('error', reject)
    const stream = session.request(
      {
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_PATH]: '/grpc.health.v1.Health/Check',
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
        [constants.HTTP2_HEADER_TE]: 'trailers',
      },
      { signal },
    )
    const chunks: Buffer[] = []
    let [bytes, grpcStatus, grpcMessage, httpStatus] = [0, '', '', 0]
    const readStatusHeaders = (headers: IncomingHttpHeaders): void => {
      grpcStatus = headers['grpc-status']?.toString() ?? grpcStatus
      grpcMessage = headers['grpc-message']?.toString() ?? grpcMessage
    }
    stream.on('error', reject)
    stream.on('response', (headers) => {
      httpStatus = Number(headers[constants.HTTP2_HEADER_STATUS] ?? 0)
      readStatusHeaders(headers)
    })
    stream.on('trailers', readStatusHeaders)
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= RESPONSE_BYTES_MAX) chunks.push(chunk)
      else stream.destroy(new Error('the response is too long for a health check'))
    })
    stream.on('close', () => {
      resolve(evaluateResponse(Buffer.concat(chunks), { grpcStatus, grpcMessage, httpStatus }))
    })
    stream.end(encodeRequest(service))
  })
}

/** Encodes HealthCheckRequest: field 1 is the service name; empty asks for the whole server. */
function encodeRequest(service: string): Buffer {
  const name = Buffer.from(service)
  const message =
    name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a]), encodeVarint(name.length), name])
  const prefix = Buffer.alloc(MESSAGE_PREFIX_BYTES)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

function encodeVarint(value: number): Buffer {
  const bytes: number[] = []
  for (let remaining = value; ; remaining = Math.floor(remaining / 128)) {
    if (remaining < 128) return Buffer.from([...bytes, remaining])
    bytes.push((remaining % 128) + 128)
  }
}

function evaluateResponse(
  response: Buffer,
  {
    grpcStatus,
    grpcMessage,
    httpStatus,
  }: { grpcStatus: string; grpcMessage: string; httpStatus: number },
): GrpcHealth {
  if (grpcStatus !== '0') {
    const reason = grpcStatus === '' ? `HTTP status ${httpStatus}` : `gRPC status ${grpcStatus}`
    return { isServing: false, output: grpcMessage === '' ? reason : `${reason}: ${grpcMessage}` }
  }
  // HealthCheckResponse: field 1 is the status; the default 0 is omitted.
  const status =
    response[MESSAGE_PREFIX_BYTES] === 0x08 ? (response[MESSAGE_PREFIX_BYTES + 1] ?? 0) : 0
  const name = SERVING_STATUSES[status] ?? SERVING_STATUSES[0]
  return { isServing: name === 'SERVING', output: `the service answers ${name}` }
}
