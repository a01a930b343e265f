import type { FetchResponse, Fetch, FetchInit } from '@reeve/sdk'

interface SourceOptions {
  readonly fetch: Fetch
  readonly token: string | undefined
  /** Our names of response headers with those of the source, in lower case. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Waits; throws if the command is interrupted. */
  readonly pause: (delayMs: number) => Promise<void>
}

/** Attempts per request. With exponential backoff they take about half a minute. */
const ATTEMPTS_MAX = 7
const DELAY_MS_MIN = 250
/** Upper limit of `Retry-After`. */
const DELAY_MS_MAX = 60_000
const REDIRECTS_MAX = 3

const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504])

/**
 * Creates a `fetch` for the source that retries transient errors, follows redirects to object
 * storage without the token, and translates response headers.
 */
export function createSourceFetch(options: SourceOptions): Fetch {
  const { token } = options
  const authorization: Readonly<Record<string, string>> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return async (url, init) => {
    const sent = { ...init, headers: { ...init.headers, ...authorization } }
    const first = await fetchWithRetry(options, url, sent)
    const answered = await followRedirects(options, first, { url, signal: init.signal })
    return withTranslatedHeaders(options.responseHeaders, answered)
  }
}

async function fetchWithRetry(
  options: SourceOptions,
  url: string,
  init: FetchInit,
): Promise<FetchResponse> {
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt === ATTEMPTS_MAX || init.method !== 'GET'
    try {
      const response = await options.fetch(url, init)
      if (isLast || !RETRYABLE_STATUSES.has(response.status)) return response
      await response.body?.cancel()
      await options.pause(retryDelayMs(attempt, response.headers.get('retry-after')))
    } catch (thrown) {
      // Connection errors are retried; an interruption is not.
      if (isLast || init.signal.aborted || !(thrown instanceof TypeError)) throw thrown
      await options.pause(retryDelayMs(attempt, null))
    }
  }
}

function retryDelayMs(attempt: number, retryAfter: string | null): number {
  const retryAfterMs = Number(retryAfter ?? 0) * 1_000
  const backoffMs = DELAY_MS_MIN * 2 ** (attempt - 1)
  return Math.min(
    DELAY_MS_MAX,
    Number.isFinite(retryAfterMs) ? Math.max(retryAfterMs, backoffMs) : backoffMs,
  )
}

/** Follows redirects without the token: code and archives may be in object storage. */
async function followRedirects(
  options: SourceOptions,
  response: FetchResponse,
  { url, signal }: { readonly url: string; readonly signal: AbortSignal },
): Promise<FetchResponse> {
  let [at, current] = [url, response]
  for (let count = 0; count < REDIRECTS_MAX; count++) {
    const location = current.headers.get('location')
    if (current.status < 300 || current.status > 399 || location === null) return current
    await current.body?.cancel()
    at = new URL(location, at).toString()
    current = await fetchWithRetry(options, at, {
      method: 'GET',
      headers: {},
      redirect: 'manual',
      signal,
    })
  }
  return current
}

function withTranslatedHeaders(
  names: SourceOptions['responseHeaders'],
  answered: FetchResponse,
): FetchResponse {
  const { headers } = answered
  return {
    status: answered.status,
    ok: answered.ok,
    type: answered.type,
    // A getter, because accessing the body starts reading it.
    get body() {
      return answered.body
    },
    headers: {
      get(name) {
        const theirs = names[name.toLowerCase()]
        return headers.get(name) ?? (theirs === undefined ? null : headers.get(theirs))
      },
    },
    arrayBuffer: () => answered.arrayBuffer(),
  }
}
