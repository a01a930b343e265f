import type { ConnectionOptions } from 'node:tls'
import type { FetchInit } from '@reeve/sdk'
import { createNodeFetch } from '../../src/cli/node-fetch.ts'

/** Asks with certificates as the command line does; the status and the body, as tests read them. */
export function secureFetch(
  tls: ConnectionOptions,
): (url: string, init?: Partial<FetchInit>) => Promise<Response> {
  const ask = createNodeFetch(tls)
  return async (url, init = {}) => {
    const { signal } = new AbortController()
    const whole = { method: 'GET', headers: {}, redirect: 'manual', signal, ...init } as const
    const { body, status } = await ask(url, whole)
    return new Response(body, { status })
  }
}
