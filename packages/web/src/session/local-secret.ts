import { isLoopback } from '@reeve/sdk'

/**
 * Returns the token of the sign-in link that a development server prints: `/ui/sign-in#token=…`.
 * The fragment never leaves the browser, so no server, log or referrer contains it. Such links work
 * on the local machine only, which prevents their use for production servers.
 */
export function localSecretIn(location: Pick<Location, 'hostname' | 'hash'>): string | undefined {
  if (!isLoopback(location.hostname)) return undefined
  const secret = new URLSearchParams(location.hash.slice(1)).get('token')
  return secret === null || secret === '' ? undefined : secret
}
