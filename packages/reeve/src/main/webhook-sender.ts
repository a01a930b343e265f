import { request as plainRequest, type IncomingMessage } from 'node:http'
import { request as secureRequest } from 'node:https'
import { errorMessage } from '@reeve/kit/fault.ts'
import { hostOf, policyLookup, requireAllowed } from '../agent/index.ts'
import type { WebhookAnswer, WebhookRequest, WebhookSender } from '../governance/index.ts'
import { textUpTo } from './text-up-to.ts'

/** From the first byte that is sent to the last one that is read. */
const ANSWER_MS_MAX = 10_000

/** Of an answer, whose beginning is kept. */
const ANSWER_CHARS_MAX = 1_024

const LOCAL_HINT =
  'a loopback, link-local or cloud metadata address; use an address that other machines can reach'

export interface WebhookSenderOptions {
  /** Whether receivers may be on this machine or its link. */
  readonly allowsLocal: boolean
  readonly version: string
  /** Names under which receivers know headers of ours: both are sent. */
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
        requireAllowed(hostOf(url.hostname), policy, describe)
        const lookup = policyLookup(policy, describe)
        const headers = {
          'user-agent': `reeve/${version}`,
          ...withOtherNames(request.headers, otherHeaders),
        }
        return await exchange(url, { ...request, headers }, lookup)
      } catch (thrown) {
        return { code: null, body: reasonOf(thrown).slice(0, ANSWER_CHARS_MAX) }
      }
    },
  }
}

/** A name with several addresses fails with one error for each, and no message of its own. */
function reasonOf(thrown: unknown): string {
  if (thrown instanceof AggregateError) return thrown.errors.map(errorMessage).join('; ')
  const cause = thrown instanceof Error ? thrown.cause : undefined
  const isTimeout = cause instanceof DOMException && cause.name === 'TimeoutError'
  return isTimeout ? `no response within ${ANSWER_MS_MAX / 1_000} s` : errorMessage(thrown)
}

function withOtherNames(
  headers: WebhookRequest['headers'],
  otherNames: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const others = Object.entries(headers).flatMap(([name, value]) => {
    const other = otherNames[name]
    return other === undefined ? [] : [[other, value] as const]
  })
  return { ...headers, ...Object.fromEntries(others) }
}

async function exchange(
  url: URL,
  { body, headers, signal }: WebhookRequest,
  lookup: ReturnType<typeof policyLookup>,
): Promise<WebhookAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const options = {
    method: 'POST',
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
    lookup,
    // One connection for each: receivers are many, and notifications are rare.
    agent: false,
    signal: AbortSignal.any([AbortSignal.timeout(ANSWER_MS_MAX), ...(signal ? [signal] : [])]),
  }
  const request =
    url.protocol === 'https:'
      ? secureRequest(url, options, resolve)
      : plainRequest(url, options, resolve)
  request.on('error', reject)
  request.end(body)
  const response = await promise
  return { code: response.statusCode ?? null, body: await textUpTo(response, ANSWER_CHARS_MAX) }
}
