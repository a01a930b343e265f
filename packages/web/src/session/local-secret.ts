import { isLoopback } from '@reeve/sdk'

/**
 * The token in the link that a server for trying things out prints: `/ui/sign-in#token=…`. What
 * follows the `#` never leaves the browser: no server, log or referrer sees it. It counts on this
 * machine only, so that nobody makes such links for servers that matter.
 */
export function localSecretIn(place: Pick<Location, 'hostname' | 'hash'>): string | undefined {
  if (!isLoopback(place.hostname)) return undefined
  const secret = new URLSearchParams(place.hash.slice(1)).get('token')
  return secret === null || secret === '' ? undefined : secret
}
