import { connect, constants, type ClientHttp2Session, type IncomingHttpHeaders } from 'node:http2'
import type { AgentCheck } from '../assignment.ts'
import type { Endpoint } from './service-address.ts'

/** grpc.health.v1: the outcome of one call. */
export interface GrpcHealth {
  readonly isServing: boolean
  readonly output: string
}

/** grpc.health.v1.HealthCheckResponse.ServingStatus. */
const STATUSES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const

/** An answer is seven bytes; more is no answer to this call. */
const ANSWER_BYTES_MAX = 1_024
/** Length of the prefix of a gRPC message: a flag and four bytes of length. */
const PREFIX_BYTES = 5

/** Calls `grpc.health.v1.Health/Check` once. Rejects when there is no answer. */
export async function askGrpcHealth(
  check: AgentCheck,
  at: Endpoint,
  signal: AbortSignal,
): Promise<GrpcHealth> {
  const scheme = check.GRPCUseTLS === true ? 'https' : 'http'
  const host = at.address.includes(':') ? `[${at.address}]` : at.address
  const session = connect(`${scheme}://${host}:${at.port}`, {
    rejectUnauthorized: !check.TLSSkipVerify,
    ...(check.TLSServerName === '' ? {} : { servername: check.TLSServerName }),
  })
  try {
    return await call(session, check.GRPCService ?? '', signal)
  } finally {
    session.destroy()
  }
}

function call(
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
    const note = (headers: IncomingHttpHeaders): void => {
      grpcStatus = headers['grpc-status']?.toString() ?? grpcStatus
      grpcMessage = headers['grpc-message']?.toString() ?? grpcMessage
    }
    stream.on('error', reject)
    stream.on('response', (headers) => {
      httpStatus = Number(headers[constants.HTTP2_HEADER_STATUS] ?? 0)
      note(headers)
    })
    stream.on('trailers', note)
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes <= ANSWER_BYTES_MAX) chunks.push(chunk)
      else stream.destroy(new Error('the answer is too long for a health check'))
    })
    stream.on('close', () => {
      resolve(judge(Buffer.concat(chunks), { grpcStatus, grpcMessage, httpStatus }))
    })
    stream.end(request(service))
  })
}

/** HealthCheckRequest: field 1 is the name of the service; empty asks for the whole server. */
function request(service: string): Buffer {
  const name = Buffer.from(service)
  const message =
    name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a]), varint(name.length), name])
  const prefix = Buffer.alloc(PREFIX_BYTES)
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.from([...bytes, left])
    bytes.push((left % 128) + 128)
  }
}

function judge(
  answer: Buffer,
  {
    grpcStatus,
    grpcMessage,
    httpStatus,
  }: { grpcStatus: string; grpcMessage: string; httpStatus: number },
): GrpcHealth {
  if (grpcStatus !== '0') {
    const why = grpcStatus === '' ? `HTTP status ${httpStatus}` : `gRPC status ${grpcStatus}`
    return { isServing: false, output: grpcMessage === '' ? why : `${why}: ${grpcMessage}` }
  }
  // HealthCheckResponse: field 1 is the status; the default, 0, is not written.
  const status = answer[PREFIX_BYTES] === 0x08 ? (answer[PREFIX_BYTES + 1] ?? 0) : 0
  const name = STATUSES[status] ?? STATUSES[0]
  return { isServing: name === 'SERVING', output: `the service answers ${name}` }
}
