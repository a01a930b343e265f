import type { CalledRoute } from '../called-routes.ts'

/** Where a server is: scheme, host and, behind a proxy, the path below which it is mounted. */
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

/** The path and query of a call, to be put behind an address. */
export function targetOf(route: CalledRoute, params: PathValues, query: QueryValues): string {
  const path = route.path.replaceAll(/:(\w+)/g, (_match, name: string) =>
    segmentOf(route, name, params[name]),
  )
  const text = queryTextOf(route, query)
  return text === '' ? path : `${path}?${text}`
}

/** An id that holds slashes stays one segment, as `%2F`. */
function segmentOf(route: CalledRoute, name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw new TypeError(`${route.id} needs params.${name}`)
  // A URL drops these two, even when encoded, so that the call would reach another route.
  if (value === '.' || value === '..') {
    throw new TypeError(`${route.id}: params.${name} cannot be "${value}"`)
  }
  return encode(value)
}

function queryTextOf(route: CalledRoute, query: QueryValues): string {
  const parts: string[] = []
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || value === null || isSilentFlag(route, name, value)) continue
    for (const one of [value].flat()) parts.push(`${encode(name)}=${encode(String(one))}`)
  }
  return parts.join('&')
}

/** A flag that is as by default is not sent.1, `pretty=false` would indent. */
function isSilentFlag(route: CalledRoute, name: string, value: QueryValue): boolean {
  if (typeof value !== 'boolean') return false
  const schema: unknown = route.query?.properties[name]
  return typeof schema === 'object' && schema !== null && Reflect.get(schema, 'default') === value
}

/** Half of a surrogate pair has no encoding; it becomes the replacement character. */
function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
