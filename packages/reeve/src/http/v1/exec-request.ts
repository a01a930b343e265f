import type { IncomingMessage } from 'node:http'
import { EXEC_HANDSHAKE_VERSION, v1Routes } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import type { Caller } from '../../acl/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import {
  prepareAction,
  prepareExec,
  type PreparedExec,
  type WorkloadContext,
} from '../../workload/index.ts'
import { LIMITS, type Refusal } from '../../model/index.ts'
import type { CloseFrame } from '../../sessions/index.ts'
import { parseJsonPrefix } from '../json-body.ts'
import { tokenFrom } from '../pipeline/tenants.ts'
import { HTTP_STATUS } from './errors.ts'

/** The target of a channel, from its URL. */
export interface ExecTarget {
  readonly path: string
  readonly query: URLSearchParams
  readonly subject:
    | { readonly kind: 'allocation'; readonly allocId: string }
    | { readonly kind: 'action'; readonly jobId: string }
}

const [ALLOCATION_PREFIX = '', ALLOCATION_SUFFIX = ''] =
  v1Routes.execAllocation.path.split(':alloc_id')
const [JOB_PREFIX = '', JOB_SUFFIX = ''] = v1Routes.runJobAction.path.split(':job_id')

/** Parses the URL; undefined if it belongs to another route. */
export function parseExecUrl(url: string): ExecTarget | undefined {
  const [path = '', search = ''] = splitOnce(url, '?')
  const query = new URLSearchParams(search)
  const allocId = decodeBetween(path, ALLOCATION_PREFIX, ALLOCATION_SUFFIX)
  if (allocId !== undefined && !allocId.includes('/'))
    return { path, query, subject: { kind: 'allocation', allocId } }
  // A job ID may contain slashes.
  const jobId = decodeBetween(path, JOB_PREFIX, JOB_SUFFIX)
  return jobId === undefined ? undefined : { path, query, subject: { kind: 'action', jobId } }
}

function decodeBetween(path: string, start: string, end: string): string | undefined {
  if (!path.startsWith(start) || !path.endsWith(end)) return undefined
  const inner = path.slice(start.length, path.length - end.length)
  if (inner === '' || path.length < start.length + end.length) return undefined
  try {
    return decodeURIComponent(inner)
  } catch {
    // Invalid percent-encoding matches no target.
    return undefined
  }
}

function splitOnce(text: string, at: string): readonly string[] {
  const index = text.indexOf(at)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}

/** Parses the parameters and prepares the session with the use case. */
export function authorizeExec(
  context: WorkloadContext,
  caller: Caller,
  { subject, query }: ExecTarget,
): Result<PreparedExec, CloseFrame> {
  const text = (name: string): string => query.get(name) ?? ''
  const tty = parseFlag(text('tty'))
  if (subject.kind === 'action') {
    if (!tty.ok) return invalidRequest(`tty value is not a boolean: ${tty.error}`)
    const namespace = text('namespace') || 'default'
    const names = { task: text('task'), action: text('action'), allocId: text('allocID') }
    return withCloseFrame(
      prepareAction(context, caller, { ...names, namespace, jobId: subject.jobId, tty: tty.value }),
    )
  }
  const command = parseCommand(text('command'))
  if (!command.ok) return invalidRequest(`failed to marshal command into json: ${command.error}`)
  if (!tty.ok) return invalidRequest(`tty value is not a boolean: ${tty.error}`)
  const { allocId } = subject
  const execInput = { allocId, task: text('task'), command: command.value, tty: tty.value }
  return withCloseFrame(prepareExec(context, caller, execInput))
}

function invalidRequest(reason: string): Result<never, CloseFrame> {
  return err({ code: 1011, reason })
}

function withCloseFrame<T>(result: Result<T, Refusal>): Result<T, CloseFrame> {
  return result.ok ? result : err(closeFrameFor(result.error))
}

/** Parses the command. A missing one is empty, which the use case rejects. */
function parseCommand(text: string): Result<readonly string[], string> {
  if (text === '') return ok([])
  try {
    const value = parseJsonPrefix(text)
    if (Array.isArray(value) && value.every((part) => typeof part === 'string')) return ok(value)
    return err('json: cannot unmarshal the value into a list of strings')
  } catch (thrown) {
    return err(errorMessage(thrown))
  }
}

const FLAG_VALUES: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['', '0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
])

function parseFlag(text: string): Result<boolean, string> {
  const value = FLAG_VALUES.get(text)
  if (value !== undefined) return ok(value)
  return err(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`)
}

interface HandshakeInput {
  readonly target: ExecTarget
  readonly request: IncomingMessage
  readonly clock: Clock
}

/**
 * Reads the token: from the first frame if the client says so, because a browser cannot set
 * headers.
 */
export async function readHandshake(
  client: StreamSocket,
  { target, request, clock }: HandshakeInput,
): Promise<Result<string | undefined, CloseFrame>> {
  const header = tokenFrom(request)
  const isInFirstFrame = parseFlag(target.query.get('ws_handshake') ?? '')
  if (!isInFirstFrame.ok)
    return policyViolation(`ws_handshake value is not a boolean: ${isInFirstFrame.error}`)
  if (!isInFirstFrame.value) return ok(header)
  const text = await firstMessage(client, clock)
  if (text === undefined)
    return policyViolation(`no handshake within ${LIMITS.execHandshakeTimeoutMs / 1_000} s`)
  const frame = parseHandshakeFrame(text)
  if (!frame.ok) return policyViolation(frame.error)
  const { version, token } = frame.value
  if (version !== EXEC_HANDSHAKE_VERSION)
    return policyViolation(`unexpected handshake value: ${version}`)
  if (header !== undefined && header !== '' && header !== token)
    return policyViolation('handshake auth token mismatched auth header token')
  return ok(token)
}

function policyViolation(reason: string): Result<never, CloseFrame> {
  return err({ code: 1008, reason })
}

/** Undefined if no message arrives in time or the client disconnects. */
function firstMessage(client: StreamSocket, clock: Clock): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const cancel = clock.after(LIMITS.execHandshakeTimeoutMs, () => resolve(undefined))
  client.onClose(() => resolve(undefined))
  client.onMessage((data) => {
    client.detach()
    resolve(Buffer.from(data).toString('utf8'))
  })
  return promise.finally(cancel)
}

interface HandshakeFrame {
  readonly version: number
  readonly token: string
}

function parseHandshakeFrame(text: string): Result<HandshakeFrame, string> {
  try {
    const value = parseJsonPrefix(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return err('json: cannot unmarshal the handshake into an object')
    const version: unknown = Reflect.get(value, 'version') ?? 0
    const token: unknown = Reflect.get(value, 'auth_token') ?? ''
    if (typeof version !== 'number')
      return err('json: cannot unmarshal the field version into a number')
    if (typeof token !== 'string')
      return err('json: cannot unmarshal the field auth_token into a string')
    return ok({ version, token })
  } catch (thrown) {
    return err(errorMessage(thrown))
  }
}

/** Returns the close frame of a refusal: code 1011 for server errors, otherwise 1008. */
export function closeFrameFor({ code, message }: Refusal): CloseFrame {
  const status = HTTP_STATUS[code]
  return { code: status >= 500 ? 1011 : 1008, reason: message, status }
}
