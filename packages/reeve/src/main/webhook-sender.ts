import { request as plainRequest, type IncomingMessage } from 'node:http'
import { request as secureRequest } from 'node:https'
import { errorMessage } from '@reeve/kit/fault.ts'
import { unbracketHost, newPolicyLookup, requireAllowedAddress } from '../agent/index.ts'
import type { WebhookResponse, WebhookRequest, WebhookSender } from '../governance/index.ts'
import { readTextUpTo } from './system.ts'

/** Time limit for a request including its response. */
const REQUEST_TIMEOUT_MS = 10_000

/** How much of a response is kept. */
const RESPONSE_CHARS_MAX = 1_024

const LOCAL_HINT =
  'a loopback, link-local or cloud metadata address; use an address that other machines can reach'

interface WebhookSenderOptions {
  /** Whether loopback and link-local receivers are allowed. */
  readonly allowsLocal: boolean
  readonly version: string
  /** Alternative header names; each header is sent under both. */
  readonly otherHeaders: Readonly<Record<string, string>>
}

/**
 * Sends notifications over HTTP. The address is chosen by users, so loopback, link-local and
 * cloud metadata addresses are rejected, and redirects are not followed.
 */
export function createWebhookSender({
  allowsLocal,
  version,
  otherHeaders,
}: WebhookSenderOptions): WebhookSender {
  const policy = { allowsLocal, hint: LOCAL_HINT }
  return {
    async send(request) {
      try {
        const url = new URL(request.url)
        const describe = `The receiver ${url.host}`
        requireAllowedAddress(unbracketHost(url.hostname), policy, describe)
        const lookup = newPolicyLookup(policy, describe)
        const headers = {
          'user-agent': `reeve/${version}`,
          ...withAliasHeaders(request.headers, otherHeaders),
        }
        return await sendRequest(url, { ...request, headers }, lookup)
      } catch (thrown) {
        return { code: null, body: describeError(thrown).slice(0, RESPONSE_CHARS_MAX) }
      }
    },
  }
}

/**
 * Describes the error. A host with several addresses fails with one error per address and an empty
 * message.
 */
function describeError(thrown: unknown): string {
  if (thrown instanceof AggregateError) return thrown.errors.map(errorMessage).join('; ')
  const cause = thrown instanceof Error ? thrown.cause : undefined
  const isTimeout = cause instanceof DOMException && cause.name === 'TimeoutError'
  return isTimeout ? `no response within ${REQUEST_TIMEOUT_MS / 1_000} s` : errorMessage(thrown)
}

function withAliasHeaders(
  headers: WebhookRequest['headers'],
  otherNames: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const others = Object.entries(headers).flatMap(([name, value]) => {
    const other = otherNames[name]
    return other === undefined ? [] : [[other, value] as const]
  })
  return { ...headers, ...Object.fromEntries(others) }
}

async function sendRequest(
  url: URL,
  { body, headers, signal }: WebhookRequest,
  lookup: ReturnType<typeof newPolicyLookup>,
): Promise<WebhookResponse> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = {
    method: 'POST',
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    lookup,
    // No keep-alive: there are many receivers and few notifications.
    agent: false,
    signal: AbortSignal.any([AbortSignal.timeout(REQUEST_TIMEOUT_MS), ...(signal ? [signal] : [])]),
  }
  const request =
    url.protocol === 'https:'
      ? secureRequest(url, options, resolve)
      : plainRequest(url, options, resolve)
  request.on('error', reject)
  request.end(body)
  const response = await promise
  return {
    code: response.statusCode ?? null,
    body: await readTextUpTo(response, RESPONSE_CHARS_MAX),
  }
}
