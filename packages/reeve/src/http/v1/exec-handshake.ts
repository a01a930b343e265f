import type { IncomingMessage } from 'node:http'
import { EXEC_HANDSHAKE_VERSION } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import { parseJsonPrefix } from '../json-text.ts'
import type { CloseFrame } from './exec-closing.ts'
import { parseFlag, type ExecTarget } from './exec-target.ts'
import { tokenFrom } from '../pipeline/credentials.ts'

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
  if (text === undefined) return policyViolation('no handshake came in time')
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
