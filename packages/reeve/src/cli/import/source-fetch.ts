import type { Answered, Fetch, FetchInit } from '@reeve/sdk'

interface SourceOptions {
  readonly fetch: Fetch
  readonly token: string | undefined
  /** From the name of a response header to what the source calls it; both in lower case. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Returns after the delay, or throws when the command is interrupted. */
  readonly pause: (delayMs: number) => Promise<void>
}

/** Attempts of one request. With the doubling delays between them they take about half a minute. */
const ATTEMPTS_MAX = 7
const DELAY_MS_MIN = 250
/** A source that asks to be left alone for longer is asked once more after this time. */
const DELAY_MS_MAX = 60_000
const REDIRECTS_MAX = 3

const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504])

/**
 * `fetch` for reading another installation: repeats what failed for now, follows the redirects to
 * stored files without the token, and finds response headers under their other names.
 */
export function sourceFetch(options: SourceOptions): Fetch {
  const { token } = options
  const authorization: Readonly<Record<string, string>> =
    token === undefined ? {} : { authorization: `Bearer ${token}` }
  return async (url, init) => {
    const sent = { ...init, headers: { ...init.headers, ...authorization } }
    const first = await repeated(options, url, sent)
    const answered = await followed(options, first, { url, signal: init.signal })
    return renamed(options.responseHeaders, answered)
  }
}

async function repeated(options: SourceOptions, url: string, init: FetchInit): Promise<Answered> {
  for (let attempt = 1; ; attempt++) {
    const isLast = attempt === ATTEMPTS_MAX || init.method !== 'GET'
    try {
      const answered = await options.fetch(url, init)
      if (isLast || !BUSY.has(answered.status)) return answered
      await answered.body?.cancel()
      await options.pause(delayOf(attempt, answered.headers.get('retry-after')))
    } catch (thrown) {
      // A connection that was refused or cut may work again; an interruption is the end.
      if (isLast || init.signal.aborted || !(thrown instanceof TypeError)) throw thrown
      await options.pause(delayOf(attempt, null))
    }
  }
}

function delayOf(attempt: number, retryAfter: string | null): number {
  const askedMs = Number(retryAfter ?? 0) * 1_000
  const backoffMs = DELAY_MS_MIN * 2 ** (attempt - 1)
  return Math.min(DELAY_MS_MAX, Number.isFinite(askedMs) ? Math.max(askedMs, backoffMs) : backoffMs)
}

/** Code and archives may be kept elsewhere, behind a link that needs no token. */
async function followed(
  options: SourceOptions,
  answered: Answered,
  { url, signal }: { readonly url: string; readonly signal: AbortSignal },
): Promise<Answered> {
  let [at, current] = [url, answered]
  for (let count = 0; count < REDIRECTS_MAX; count++) {
    const location = current.headers.get('location')
    if (current.status < 300 || current.status > 399 || location === null) return current
    await current.body?.cancel()
    at = new URL(location, at).toString()
    current = await repeated(options, at, {
      method: 'GET',
      headers: {},
      redirect: 'manual',
      signal,
    })
  }
  return current
}

function renamed(names: SourceOptions['responseHeaders'], answered: Answered): Answered {
  const { headers } = answered
  return {
    status: answered.status,
    ok: answered.ok,
    type: answered.type,
    // Looking at the body begins to read it.
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
