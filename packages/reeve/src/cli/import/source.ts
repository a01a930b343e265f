import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Fetch, FetchInit, FetchResponse } from '@reeve/sdk'
import { aliasesOf } from '../../compat/index.ts'
import { createCliClient } from '../client.ts'
import type { CommandContext } from '../command.ts'
import { UsageError } from '../errors.ts'
import type { Fields } from './import-plan.ts'

/** The installation to import from. */
interface ImportSource {
  readonly client: Client
  /** Reads JSON at a path without a client method; undefined if there is none. */
  readonly get: (path: string) => Promise<unknown>
}

/** Timeout of a request; large lists take long. */
const TIMEOUT_MS = 60_000

/** Connects to the installation named by `--from`. */
export async function openSource(
  { flags, host, transport, settings, signal }: CommandContext,
  names: PeerNames,
): Promise<ImportSource> {
  const address = flags.string('from')
  if (address === undefined)
    throw new UsageError('--from is missing: the address of the installation to read.')
  const token = flags.string('from-token') ?? host.environment['REEVE_IMPORT_TOKEN']
  const fetch = createSourceFetch({
    fetch: transport.fetch,
    token,
    responseHeaders: names.responseHeaders,
    pause: async (delayMs) => await delay(delayMs, undefined, { signal }),
  })
  const connection = { ...settings, address, token, namespace: undefined, region: undefined }
  try {
    const client = await createCliClient(connection, { fetch }, signal)
    return { client, get: async (path) => await getJson(fetch, client.address + path, signal) }
  } catch (thrown) {
    // The client throws a TypeError for a malformed address or token.
    if (thrown instanceof TypeError) throw new UsageError(`--from: the ${thrown.message}.`)
    throw thrown
  }
}

async function getJson(fetch: Fetch, url: string, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    method: 'GET',
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  })
  const text = new TextDecoder().decode(await response.arrayBuffer())
  return response.ok ? JSON.parse(text) : undefined
}

/** Maximum number of concurrent requests, to limit the load on the source. */
const CONCURRENCY_MAX = 8

/**
 * Maps items with limited concurrency and returns the results in order. The first failure rejects.
 */
export async function mapConcurrently<T, R>(
  items: readonly T[],
  map: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += CONCURRENCY_MAX)
    results.push(...(await Promise.all(items.slice(at, at + CONCURRENCY_MAX).map(map))))
  return results
}

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

/** Names that another product uses, each with ours. */
export interface PeerNames {
  /** Response headers, from ours to theirs, in lower case. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Fields of jobs. */
  readonly fields: Readonly<Record<string, string>>
  /** Values of fields, by our name of the field. */
  readonly values: Readonly<Record<string, Readonly<Record<string, string>>>>
  /** First segments of variable paths. */
  readonly variableDirectories: Readonly<Record<string, string>>
}

/** Fields with user-defined names, which are not translated. */
const USER_DEFINED_FIELDS: ReadonlySet<string> = new Set([
  'Config',
  'Env',
  'Meta',
  'Options',
  'Args',
])

/** Translates the field names in a value. User-defined names are kept. */
function translateValue(names: Pick<PeerNames, 'fields' | 'values'>, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item) => translateValue(names, item))
  if (typeof value !== 'object' || value === null) return value
  return translateFields(names, value)
}

/** Translates the field names of a record. */
export function translateFields(
  names: Pick<PeerNames, 'fields' | 'values'>,
  record: object,
): Fields {
  const entries = Object.entries(record).map(([theirs, value]: [string, unknown]) => {
    const ours = names.fields[theirs] ?? theirs
    if (USER_DEFINED_FIELDS.has(ours)) return [ours, value] as const
    const word = typeof value === 'string' ? names.values[ours]?.[value] : undefined
    return [ours, word ?? translateValue(names, value)] as const
  })
  return Object.fromEntries(entries)
}

/** Translates the first segment of a variable path. */
export function translatePath({ variableDirectories }: PeerNames, path: string): string {
  const [first = '', ...rest] = path.split('/')
  return [variableDirectories[first] ?? first, ...rest].join('/')
}

const { http, governance } = aliasesOf(true)

/** Names of the products that can be imported. Reeve installations use ours. */
export const PEER_NAMES: PeerNames = http

export const GOVERNANCE_NAMES: Pick<PeerNames, 'fields' | 'values'> = {
  fields: governance.members,
  values: governance.values,
}
