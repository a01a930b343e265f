import type { IncomingMessage } from 'node:http'
import { EXEC_HANDSHAKE_VERSION } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type { StreamSocket } from '@reeve/kit/stream-socket.ts'
import { LIMITS } from '../../model/index.ts'
import { parseFirstJson } from '../json-text.ts'
import type { Closing } from './exec-closing.ts'
import { parseFlag, type ExecTarget } from './exec-target.ts'
import { secretOf } from '../pipeline/credentials.ts'

interface Handshake {
  readonly target: ExecTarget
  readonly request: IncomingMessage
  readonly clock: Clock
}

/** The token comes with the first frame, because a browser cannot set headers. */
export async function readHandshake(
  client: StreamSocket,
  { target, request, clock }: Handshake,
): Promise<Result<string | undefined, Closing>> {
  const header = secretOf(request)
  const wanted = parseFlag(target.query.get('ws_handshake') ?? '')
  if (!wanted.ok) return refuse(`ws_handshake value is not a boolean: ${wanted.error}`)
  if (!wanted.value) return ok(header)
  const text = await firstMessage(client, clock)
  if (text === undefined) return refuse('no handshake came in time')
  const frame = readFrame(text)
  if (!frame.ok) return refuse(frame.error)
  const { version, token } = frame.value
  if (version !== EXEC_HANDSHAKE_VERSION) return refuse(`unexpected handshake value: ${version}`)
  if (header !== undefined && header !== '' && header !== token)
    return refuse('handshake auth token mismatched auth header token')
  return ok(token)
}

function refuse(reason: string): Result<never, Closing> {
  return err({ code: 1008, reason })
}

/** Undefined when none comes, or the caller leaves. */
function firstMessage(client: StreamSocket, clock: Clock): Promise<string | undefined> {
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const cancel = clock.after(LIMITS.execHandshakeMsMax, () => resolve(undefined))
  client.onClose(() => resolve(undefined))
  client.onMessage((data) => {
    client.detach()
    resolve(Buffer.from(data).toString('utf8'))
  })
  return promise.finally(cancel)
}

interface Frame {
  readonly version: number
  readonly token: string
}

function readFrame(text: string): Result<Frame, string> {
  try {
    const value = parseFirstJson(text)
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
