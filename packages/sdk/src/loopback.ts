const LOOPBACK: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

/**
 * Whether the host of an address, as in `URL.hostname`, is this machine: only there does a link
 * with a token in it sign in.
 */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.includes(hostname)
}
