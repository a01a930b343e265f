const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

/**
 * Reports whether a host, as in `URL.hostname`, is the local machine. Sign-in links with a token
 * work only there.
 */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK_HOSTS.includes(hostname)
}
