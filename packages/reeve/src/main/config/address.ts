import { BlockList, isIP, isIPv6 } from 'node:net'

export const PORT_MAX = 65_535

/** The default port of servers. */
export const HTTP_PORT = 4646

/** A host and perhaps a port, as people write them: `10.0.0.5`, `node1:4646`, `[::1]:4646`. */
export interface Address {
  readonly host: string
  readonly port: number | undefined
}

/** RFC 1123: labels of letters, digits and inner hyphens; underscores are met in practice. */
const HOST_LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/i
const HOST_NAME_CHARS_MAX = 253
const BRACKETED = /^\[([^\]]*)\](?::([0-9]{1,5}))?$/
const PLAIN = /^([^:[\]]*)(?::([0-9]{1,5}))?$/

export function isHost(text: string): boolean {
  if (isIP(text) !== 0) return true
  return (
    text.length <= HOST_NAME_CHARS_MAX && text.split('.').every((part) => HOST_LABEL.test(part))
  )
}

export function parseAddress(text: string): Address | undefined {
  if (isIPv6(text)) return { host: text, port: undefined }
  const bracketed = BRACKETED.exec(text)
  const [, host = '', digits] = bracketed ?? PLAIN.exec(text) ?? []
  const port = digits === undefined ? undefined : Number(digits)
  if (bracketed !== null ? !isIPv6(host) : !isHost(host)) return undefined
  if (port !== undefined && (port < 1 || port > PORT_MAX)) return undefined
  return { host, port }
}

/** `host:port`, an IPv6 address in brackets. */
export function formatAddress(host: string, port: number): string {
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`
}

const loopback = new BlockList()
loopback.addSubnet('127.0.0.0', 8, 'ipv4')
loopback.addAddress('::1', 'ipv6')

/** Whether only this machine can reach the host. Any name but `localhost` may lead anywhere. */
export function isLoopback(host: string): boolean {
  const version = isIP(host)
  if (version === 0) return host.toLowerCase() === 'localhost'
  return loopback.check(host, version === 6 ? 'ipv6' : 'ipv4')
}

/** `0.0.0.0` and `::`: every address of the machine, and none that others could dial. */
export function isAnyAddress(host: string): boolean {
  return host === '0.0.0.0' || (isIPv6(host) && /^[0:]+$/.test(host))
}
