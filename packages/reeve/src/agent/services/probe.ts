import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { ExecRequest, ExecSession } from '../task-session.ts'
import { askGrpcHealth } from './grpc-probe.ts'
import type { PlannedCheck } from './plan-services.ts'
import type { Endpoint } from './service-address.ts'

/** What one look at a service found. */
export interface Finding {
  readonly outcome: 'passing' | 'warning' | 'failing'
  readonly output: string
  /** Of an HTTP answer. */
  readonly statusCode?: number
}

interface ProbeOptions {
  /** Fires when it has taken too long, or is not wanted any more. */
  readonly signal: AbortSignal
  /** Runs a command in the world of the check's task. */
  readonly exec: (request: ExecRequest) => Promise<ExecSession>
}

/** Text of an answer that is kept. */
export const OUTPUT_CHARS_MAX = 3 * 1024
/** Bytes of an answer that are read; more only shows that somebody is there. */
const BODY_BYTES_MAX = 64 * 1024

/** Looks once. Never rejects: what goes wrong is what it found. */
export async function probe(planned: PlannedCheck, options: ProbeOptions): Promise<Finding> {
  try {
    return await look(planned, options)
  } catch (thrown) {
    const why = options.signal.aborted ? 'the check took too long' : errorMessage(thrown)
    return failing(why)
  }
}

function look({ check, at }: PlannedCheck, options: ProbeOptions): Promise<Finding> {
  if (check.Type === 'script') return runScript(check, options)
  if (at === undefined) return Promise.resolve(failing('the check has no address'))
  if (check.Type === 'http') return askHttp(check, at, options)
  if (check.Type === 'tcp') return openTcp(at, options)
  if (check.Type === 'grpc') return askGrpc(check, at, options)
  return Promise.resolve(failing(`this agent has no checks of type ${JSON.stringify(check.Type)}`))
}

function failing(output: string): Finding {
  return { outcome: 'failing', output: output.slice(0, OUTPUT_CHARS_MAX) }
}

/** 2xx and 3xx pass. A redirect is not followed. */
function askHttp(
  check: PlannedCheck['check'],
  at: Endpoint,
  { signal }: ProbeOptions,
): Promise<Finding> {
  const isHttps = check.Protocol.toLowerCase() === 'https'
  const headers = Object.fromEntries(
    Object.entries(check.Header ?? {}).map(([name, values]) => [name, [...values]]),
  )
  return new Promise((resolve, reject) => {
    const settings = {
      host: at.address,
      port: at.port,
      path: check.Path.startsWith('/') ? check.Path : `/${check.Path}`,
      method: check.Method || 'GET',
      headers,
      // One connection for one look: a kept one would show that it is open, not that it is served.
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
      const found = readSome(response).then((output): Finding => ({ outcome, output, statusCode }))
      found.finally(() => request.destroy()).then(resolve, reject)
    })
    request.end(check.Body)
  })
}

async function askGrpc(
  check: PlannedCheck['check'],
  at: Endpoint,
  { signal }: ProbeOptions,
): Promise<Finding> {
  const { isServing, output } = await askGrpcHealth(check, at, signal)
  return isServing ? { outcome: 'passing', output } : failing(output)
}

function openTcp(at: Endpoint, { signal }: ProbeOptions): Promise<Finding> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: at.address, port: at.port })
    const stop = (): void => void socket.destroy(new Error('the check took too long'))
    signal.addEventListener('abort', stop, { once: true })
    socket.on('error', reject)
    socket.on('close', () => signal.removeEventListener('abort', stop))
    socket.on('connect', () => {
      socket.destroy()
      resolve({ outcome: 'passing', output: `connected to ${at.address}:${at.port}` })
    })
    if (signal.aborted) stop()
  })
}

/** 0 passes, 1 is a warning, anything else fails. */
async function runScript(
  { Command, Args }: PlannedCheck['check'],
  { signal, exec }: ProbeOptions,
): Promise<Finding> {
  const session = await exec({ command: [Command, ...(Args ?? [])], tty: undefined })
  const stop = (): void => session.hangUp()
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  session.stdin.on('error', () => undefined)
  session.stdin.end()
  const late = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new Error('the check took too long')), {
      once: true,
    })
  })
  late.catch(() => undefined)
  const done = Promise.all([readSome(session.stdout), readSome(session.stderr), session.exited])
  done.catch(() => undefined)
  try {
    const [stdout, stderr, code] = await Promise.race([done, late])
    const output = `${stdout}${stderr}`.slice(0, OUTPUT_CHARS_MAX)
    return { outcome: code === 0 ? 'passing' : code === 1 ? 'warning' : 'failing', output }
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

/** The beginning of a stream; the rest is read and dropped, up to a bound. */
async function readSome(stream: Readable): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stream) {
    // Streams of bytes give Buffers.
    const part = chunk as Buffer
    if (bytes < OUTPUT_CHARS_MAX) chunks.push(part)
    bytes += part.length
    if (bytes > BODY_BYTES_MAX) break
  }
  return Buffer.concat(chunks).toString('utf8').slice(0, OUTPUT_CHARS_MAX)
}
