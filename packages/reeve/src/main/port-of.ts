/** Returns the port of a URL, or the default port of its scheme. */
export function portOf(address: string): number {
  const { port, protocol } = new URL(address)
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}
