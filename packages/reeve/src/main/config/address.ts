import { BlockList, isIP, isIPv6 } from 'node:net'

export const PORT_MAX = 65_535

/** The default port of servers. */
export const HTTP_PORT = 4646

/** A host with an optional port: `10.0.0.5`, `node1:4646`, `[::1]:4646`. */
export interface Address {
  readonly host: string
  readonly port: number | undefined
}

/** A label as in RFC 1123, plus underscores, which are used in practice. */
const HOST_LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i
const HOST_NAME_CHARS_MAX = 253
const BRACKETED_HOST = /^\[([^\]]*)\](?::([0-9]{1,5}))?$/
const UNBRACKETED = /^([^:[\]]*)(?::([0-9]{1,5}))?$/

export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true
  return (
    text.length <= HOST_NAME_CHARS_MAX && text.split('.').every((part) => HOST_LABEL.test(part))
  )
}

export function parseAddress(text: string): Address | undefined {
  if (isIPv6(text)) return { host: text, port: undefined }
  const bracketed = BRACKETED_HOST.exec(text)
  const [, host = '', digits] = bracketed ?? UNBRACKETED.exec(text) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  if (bracketed !== null ? !isIPv6(host) : !isHost(host)) return undefined
  if (port !== undefined && (port < 1 || port > PORT_MAX)) return undefined
  return { host, port }
}

/** Formats as `host:port`, with brackets around an IPv6 address. */
export function formatAddress(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/**
 * Whether the host is loopback. Of names, only `localhost` counts, because any other may resolve
 * elsewhere.
 */
export function isLoopback(host: string): boolean {
  const version = isIP(host)
  if (version === 0) return host.toLowerCase() === 'localhost'
  return loopback.check(host, version === 6 ? 'ipv6' : 'ipv4')
}

/** Whether the address is a wildcard (`0.0.0.0`, `::`), which others cannot connect to. */
export function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || (isIPv6(host) && /^[0:]+$/.test(host))
}

/** Returns the port of a URL, or the default port of its scheme. */
export function portOf(address: string): number {
  const { port, protocol } = new URL(address)
  if (port !== '') return Number(port)
  return protocol === 'https:' ? 443 : 80
}
