import { connect, constants, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2'
import type { AgentCheck } from '../assignment.ts'
import type { Endpoint } from './plan-services.ts'

/** Result of a grpc.health.v1 call. */
export interface GrpcHealth {
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
export async function checkGrpcHealth(
  check: AgentCheck,
  endpoint: Endpoint,
  signal: AbortSignal,
): Promise<GrpcHealth> {
  const scheme = check.GRPCUseTLS === true ? 'https' : 'http'
  const host = endpoint.address.includes(':') ? `[${endpoint.address}]` : endpoint.address
  const session = connect(`${scheme}://${host}:${endpoint.port}`, {
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
