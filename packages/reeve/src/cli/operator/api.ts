import { HEADERS } from '@reeve/contract'
import type { FetchInit } from '@reeve/sdk'
import { copyBytes } from '../alloc/copy.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { CommandError, UsageError } from '../failure.ts'
import { readFileOrStdin } from '../input.ts'

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** Maximum body size, because bodies are held in memory; the server rejects larger ones. */
const BODY_BYTES_MAX = 64 * 1024 * 1024

/** `operator api`: sends one request with the address, token and TLS settings of the CLI. */
export async function runOperatorApi(invocation: CommandContext): Promise<number> {
  const { args, flags, host, settings, signal, transport } = invocation
  const path = args[0] ?? ''
  if (!path.startsWith('/')) throw new UsageError(`PATH begins with a slash, as /v1${path}.`)
  const body = await readBody(invocation)
  const method = flags.oneOf('method', METHODS) ?? (body === undefined ? 'GET' : 'POST')
  const response = await transport.fetch(`${settings.address.replace(/\/$/, '')}${path}`, {
    method,
    headers: requestHeaders(invocation, body),
    redirect: 'manual',
    signal,
    ...(body !== undefined && { body }),
  })
  if (flags.has('include')) host.out(formatResponseHead(response))
  if (response.body !== null) await copyBytes(response.body, (bytes) => host.outBytes(bytes))
  if (host.isTerminal) host.out('\n')
  if (!response.ok) host.err(`reeve operator api: the server answered ${response.status}.\n`)
  return response.ok ? EXIT_CODES.ok : EXIT_CODES.failed
}

async function readBody(invocation: CommandContext): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const data = invocation.flags.string('data')
  if (data === undefined) return undefined
  if (!data.startsWith('@')) return new Uint8Array(new TextEncoder().encode(data))
  const tooLong = (bytes: number) =>
    new CommandError(`The body has ${bytes} bytes; at most ${BODY_BYTES_MAX} are sent.`)
  const read = await readFileOrStdin(invocation, data.slice(1), {
    bytesMax: BODY_BYTES_MAX,
    onTooLong: tooLong,
  })
  return new Uint8Array(read)
}

/** Builds the headers. `--header` flags override the content type and the token. */
function requestHeaders(
  { args, flags, settings }: CommandContext,
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
  const given = flags.strings('header').map((text): readonly [string, string] => {
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

/** Response headers with a meaning in this API. */
const PRINTED_HEADERS = ['Content-Type', 'Retry-After', ...Object.values(HEADERS)]

function formatResponseHead({
  status,
  headers,
}: Awaited<ReturnType<CommandContext['transport']['fetch']>>): string {
  const lines = PRINTED_HEADERS.flatMap((name) => {
    const value = headers.get(name)
    return value === null ? [] : [`${name}: ${value}\n`]
  })
  return `HTTP ${status}\n${lines.join('')}\n`
}
