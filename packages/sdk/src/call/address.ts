import type { RouteInfo } from '../called-routes.ts'

/** Validates and normalizes the base URL of a server; behind a proxy it may have a path. */
export function parseAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new TypeError('address must be a URL such as http://127.0.0.1:4646')
  }
  // Browsers refuse such addresses, and error messages would repeat the password.
  if (url.username !== '' || url.password !== '') {
    throw new TypeError('address must not hold a user name or password; pass a token')
  }
  if (url.search !== '' || url.hash !== '') {
    throw new TypeError('address must end after the path: no query, no fragment')
  }
  return url.href.replace(/\/+$/, '')
}

type QueryValue = string | number | boolean | readonly string[] | null | undefined
export type QueryValues = Readonly<Record<string, QueryValue>>
export type PathValues = Readonly<Record<string, string | undefined>>

/** Returns the path and query of a call. */
export function urlPathOf(route: RouteInfo, params: PathValues, query: QueryValues): string {
  const path = route.path.replaceAll(/:(\w+)/g, (_match, name: string) =>
    pathSegmentOf(route, name, params[name]),
  )
  const text = queryStringOf(route, query)
  return text === '' ? path : `${path}?${text}`
}

/** Encodes a path parameter; slashes in IDs become `%2F`. */
function pathSegmentOf(route: RouteInfo, name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new TypeError(`${route.id} needs params.${name}`)
  // URL parsers remove these two, even if encoded, and the call would reach another route.
  if (value === '.' || value === '..') {
    throw new TypeError(`${route.id}: params.${name} cannot be "${value}"`)
  }
  return encodeComponent(value)
}

function queryStringOf(route: RouteInfo, query: QueryValues): string {
  const parts: string[] = []
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || isDefaultFlag(route, name, value)) continue
    for (const one of [value].flat())
      parts.push(`${encodeComponent(name)}=${encodeComponent(String(one))}`)
  }
  return parts.join('&')
}

/** Flags with their default value are not sent: `pretty=false` would indent. */
function isDefaultFlag(route: RouteInfo, name: string, value: QueryValue): boolean {
  if (typeof value !== 'boolean') return false
  const schema: unknown = route.query?.properties[name]
  return typeof schema === 'object' && schema !== null && Reflect.get(schema, 'default') === value
}

/** Lone surrogates cannot be encoded; they become the replacement character. */
function encodeComponent(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

const LOOPBACK_HOSTS: readonly string[] = ['127.0.0.1', 'localhost', '[::1]']

/**
 * Reports whether a host, as in `URL.hostname`, is the local machine. Sign-in links with a token
 * work only there.
 */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK_HOSTS.includes(hostname)
}
