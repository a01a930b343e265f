import { err, ok, type Result } from '@reeve/kit/result.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { quote } from '../fmt/quote.ts'
import { decodeUtf8Lossy } from '@reeve/kit/utf8.ts'

/** The parts of a URL, under the names they have in results; empty when there is none. */
export interface UrlParts {
  readonly scheme: string
  readonly hostname: string
  readonly port: string
  readonly path: string
  readonly raw_path: string
  readonly raw_query: string
  readonly fragment: string
}

type Part = 'path' | 'query' | 'host' | 'fragment' | 'user'

// oxlint-disable-next-line no-control-regex
const CONTROL = /[\0-\x1f\x7f]/

/** RFC 3986, as leniently as the other implementations of the language read it. */
export function parseUrl(text: string): Result<UrlParts, string> {
  if (CONTROL.test(text)) return err('net/url: invalid control character in URL')
  const hash = text.indexOf('#')
  const fragment = unescapeText(hash < 0 ? '' : text.slice(hash + 1), 'fragment')
  if (!fragment.ok) return fragment
  const whole = hash < 0 ? text : text.slice(0, hash)
  const scheme = takeScheme(whole)
  if (!scheme.ok) return scheme
  const rest = whole.slice(scheme.value.length === 0 ? 0 : scheme.value.length + 1)
  const mark = rest.indexOf('?')
  const [place, query] = mark < 0 ? [rest, ''] : [rest.slice(0, mark), rest.slice(mark + 1)]
  const parts = { scheme: scheme.value.toLowerCase(), raw_query: query, fragment: fragment.value }
  if (!place.startsWith('/')) {
    // After a scheme, text without a leading slash is neither host nor path.
    if (scheme.value !== '') return ok({ ...parts, ...NO_PLACE })
    if (place.split('/')[0]?.includes(':') === true)
      return err('first path segment in URL cannot contain colon')
  }
  const located = parsePlace(place, scheme.value !== '')
  return located.ok ? ok({ ...parts, ...located.value }) : located
}

type Place = Pick<UrlParts, 'hostname' | 'port' | 'path' | 'raw_path'>

const NO_PLACE: Place = { hostname: '', port: '', path: '', raw_path: '' }

function takeScheme(text: string): Result<string, string> {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*(?=:)/.exec(text)?.[0] ?? ''
  return scheme === '' && text.startsWith(':') ? err('missing protocol scheme') : ok(scheme)
}

function parsePlace(place: string, hasScheme: boolean): Result<Place, string> {
  const hasHost = place.startsWith('//') && (hasScheme || !place.startsWith('///'))
  const end = hasHost ? place.indexOf('/', 2) : 0
  const authority = hasHost ? place.slice(2, end < 0 ? undefined : end) : ''
  const host = parseAuthority(authority)
  if (!host.ok) return host
  const rawPath = hasHost ? (end < 0 ? '' : place.slice(end)) : place
  const path = unescapeText(rawPath, 'path')
  if (!path.ok) return path
  return ok({ ...host.value, path: path.value, raw_path: writtenPath(rawPath, path.value) })
}

/**
 * Returns the path as written if it differs from the default encoding of the decoded path, for
 * example in an escaped slash.
 */
function writtenPath(raw: string, path: string): string {
  return escapePath(path) === raw || !mayBeWritten(raw) ? path : raw
}

/** Reports whether a raw path contains an escape that decoding would lose. */
function mayBeWritten(raw: string): boolean {
  const decoded = unescapeText(raw.replace(/%(?:21|27|28|29|2a|5b|5d)/gi, ''), 'path')
  const plain = raw.replace(/%(?:21|27|28|29|2a|5b|5d)/gi, '')
  return decoded.ok && escapePath(decoded.value) !== plain
}

function parseAuthority(authority: string): Result<Pick<Place, 'hostname' | 'port'>, string> {
  const at = authority.lastIndexOf('@')
  if (at >= 0 && !/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(authority.slice(0, at)))
    return err('net/url: invalid userinfo')
  if (at >= 0) {
    const user = unescapeText(authority.slice(0, at), 'user')
    if (!user.ok) return user
  }
  const host = authority.slice(at + 1)
  const bracket = host.startsWith('[') ? host.lastIndexOf(']') : -1
  if (host.startsWith('[') && bracket < 0) return err("missing ']' in host")
  const colon = bracket >= 0 ? bracket + 1 : host.lastIndexOf(':')
  const name = colon < 0 ? host : host.slice(0, colon)
  const portText = colon < 0 ? '' : host.slice(colon)
  if (portText !== '' && !/^:[0-9]*$/.test(portText))
    return err(`invalid port ${quote(portText)} after host`)
  const hostname = unescapeText(name, 'host')
  if (!hostname.ok) return hostname
  return ok({
    hostname: bracket >= 0 ? hostname.value.slice(1, -1) : hostname.value,
    port: portText.slice(1),
  })
}

/** Percent signs decoded; in a query a plus is a space. */
export function unescapeText(text: string, part: Part): Result<string, string> {
  const plain = part === 'query' ? text.replaceAll('+', ' ') : text
  const bad = /%(?![0-9A-Fa-f]{2})/.exec(plain)
  if (bad !== null) return err(`invalid URL escape ${quote(plain.slice(bad.index, bad.index + 3))}`)
  if (part === 'host') {
    // RFC 6874: in a host only what is not ASCII may be escaped, and the percent sign itself.
    const ascii = /%(?!25)[0-7][0-9A-Fa-f]/.exec(plain)
    if (ascii !== null) return err(`invalid URL escape ${quote(ascii[0])}`)
    const strange = /[ <>"^`{|}\\]/.exec(plain)
    if (strange !== null && !plain.startsWith('['))
      return err(`invalid character ${quote(strange[0])} in host name`)
  }
  if (!plain.includes('%')) return ok(plain)
  return ok(
    plain.replace(/(?:%[0-9A-Fa-f]{2})+/g, (run) =>
      decodeUtf8Lossy(
        Uint8Array.from({ length: run.length / 3 }, (_, at) =>
          Number.parseInt(run.slice(at * 3 + 1, at * 3 + 3), 16),
        ),
      ),
    ),
  )
}

/** Everything but letters, digits and `-_.~` is escaped, and a space becomes a plus. */
export function escapeQuery(text: string): string {
  return escapeBut(text, /[A-Za-z0-9\-_.~]/).replaceAll('%20', '+')
}

function escapePath(text: string): string {
  return escapeBut(text, /[A-Za-z0-9\-_.~$&+,/:;=@]/)
}

function escapeBut(text: string, allowed: RegExp): string {
  let escaped = ''
  for (const character of text)
    if (allowed.test(character)) escaped += character
    else
      for (const byte of encodeUtf8(character))
        escaped += `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  return escaped
}
