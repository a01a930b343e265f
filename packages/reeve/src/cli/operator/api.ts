import { HEADERS } from '@reeve/contract'
import type { FetchInit } from '@reeve/sdk'
import { copyBytes } from '../alloc/copy.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandFailure, UsageError } from '../failure.ts'
import { fileBytes } from '../input.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** A body is read into memory once; the server rejects larger ones anyway. */
const BODY_BYTES_MAX = 64 * 1024 * 1024

/** `operator api`: sends one request with the address, token and TLS settings of the CLI. */
export async function runOperatorApi(invocation: Invocation): Promise<number> {
  const { args, flags, host, settings, signal, ways } = invocation
  const path = args[0] ?? ''
  if (!path.startsWith('/')) throw new UsageError(`PATH begins with a slash, as /v1${path}.`)
  const body = await bodyOf(invocation)
  const method = flags.oneOf('method', METHODS) ?? (body === undefined ? 'GET' : 'POST')
  const answer = await ways.fetch(`${settings.address.replace(/\/$/, '')}${path}`, {
    method,
    headers: headersOf(invocation, body),
    redirect: 'manual',
    signal,
    ...(body !== undefined && { body }),
  })
  if (flags.has('include')) host.out(headText(answer))
  if (answer.body !== null) await copyBytes(answer.body, (bytes) => host.outBytes(bytes))
  if (host.isTerminal) host.out('\n')
  if (!answer.ok) host.err(`reeve operator api: the server answered ${answer.status}.\n`)
  return answer.ok ? EXIT_CODES.ok : EXIT_CODES.failed
}

async function bodyOf(invocation: Invocation): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const data = invocation.flags.text('data')
  if (data === undefined) return undefined
  if (!data.startsWith('@')) return new Uint8Array(new TextEncoder().encode(data))
  const tooLong = (bytes: number) =>
    new CommandFailure(`The body has ${bytes} bytes; at most ${BODY_BYTES_MAX} are sent.`)
  const read = await fileBytes(invocation, data.slice(1), { bytesMax: BODY_BYTES_MAX, tooLong })
  return new Uint8Array(read)
}

/** `--header` flags go last, so that they may replace the content type or the token. */
function headersOf(
  { args, flags, settings }: Invocation,
  body: Uint8Array | undefined,
): FetchInit['headers'] {
  const isGovernance = args[0]?.startsWith('/api/v2') === true
  const token: Record<string, string> =
    settings.token === undefined
      ? {}
      : isGovernance
        ? { authorization: `Bearer ${settings.token}` }
        : { [HEADERS.token.toLowerCase()]: settings.token }
  const type = isGovernance ? 'application/vnd.api+json' : 'application/json'
  const given = flags.texts('header').map((text): readonly [string, string] => {
    const colon = text.indexOf(':')
    if (colon <= 0) throw new UsageError(`--header needs NAME: VALUE, not "${text}".`)
    return [text.slice(0, colon).trim().toLowerCase(), text.slice(colon + 1).trim()]
  })
  return {
    ...token,
    ...(body !== undefined && { 'content-type': type }),
    ...Object.fromEntries(given),
  }
}

/** The headers that this API gives a meaning. */
const SHOWN_HEADERS = ['Content-Type', 'Retry-After', ...Object.values(HEADERS)]

function headText({ status, headers }: Awaited<ReturnType<Invocation['ways']['fetch']>>): string {
  const lines = SHOWN_HEADERS.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [`${name}: ${value}\n`]
  })
  return `HTTP ${status}\n${lines.join('')}\n`
}
