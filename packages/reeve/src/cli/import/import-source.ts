import { setTimeout as delay } from 'node:timers/promises'
import type { Client, Fetch } from '@reeve/sdk'
import { createCliClient } from '../client.ts'
import type { CommandContext } from '../command.ts'
import { UsageError } from '../failure.ts'
import type { PeerNames } from './peer-names.ts'
import { createSourceFetch } from './source-fetch.ts'

/** The installation to import from. */
export interface ImportSource {
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
