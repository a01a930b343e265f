import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Fetch } from '@reeve/sdk'
import { connectClient } from '../client.ts'
import type { Invocation } from '../command.ts'
import { UsageError } from '../failure.ts'
import type { PeerNames } from './peer-names.ts'
import { sourceFetch } from './source-fetch.ts'

/** The installation that is read. */
export interface ImportSource {
  readonly client: Client
  /** JSON at a path that the client has no method for; undefined where there is none. */
  readonly get: (path: string) => Promise<unknown>
}

/** Reading large lists takes a while, and the source has other work. */
const TIMEOUT_MS = 60_000

/** Connects to what `--from` names. */
export async function openSource(
  { flags, host, ways, settings, signal }: Invocation,
  names: PeerNames,
): Promise<ImportSource> {
  const address = flags.text('from')
  if (address === undefined)
    throw new UsageError('--from is missing: the address of the installation to read.')
  const token = flags.text('from-token') ?? host.environment['REEVE_IMPORT_TOKEN']
  const fetch = sourceFetch({
    fetch: ways.fetch,
    token,
    responseHeaders: names.responseHeaders,
    pause: async (delayMs) => await delay(delayMs, undefined, { signal }),
  })
  const connection = { ...settings, address, token, namespace: undefined, region: undefined }
  try {
    const client = await connectClient(connection, { fetch }, signal)
    return { client, get: async (path) => await getJson(fetch, client.address + path, signal) }
  } catch (thrown) {
    // The client refuses an address or a token that cannot be one.
    if (thrown instanceof TypeError) throw new UsageError(`--from: the ${thrown.message}.`)
    throw thrown
  }
}

async function getJson(fetch: Fetch, url: string, signal: AbortSignal): Promise<unknown> {
  const answered = await fetch(url, {
    method: 'GET',
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  })
  const text = new TextDecoder().decode(await answered.arrayBuffer())
  return answered.ok ? JSON.parse(text) : undefined
}

/** Requests that an installation answers at the same time: it has other clients. */
const CONCURRENT_MAX = 8

/** The results in the order of the items, a few at a time. The first failure ends it. */
export async function mapLimited<T, R>(
  items: readonly T[],
  map: (item: T) => Promise<R>,
): Promise<readonly R[]> {
  const results: R[] = []
  for (let at = 0; at < items.length; at += CONCURRENT_MAX)
    results.push(...(await Promise.all(items.slice(at, at + CONCURRENT_MAX).map(map))))
  return results
}
