/** The port of `http://host:port`, also where the URL leaves out the one that its scheme means. */
export function portOf(address: string): number {
  const { port, protocol } = new URL(address)
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}
