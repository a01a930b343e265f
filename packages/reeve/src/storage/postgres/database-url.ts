import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** Where a database is and how to talk to it. Made from a URL; holds the password. */
export interface DatabaseTarget {
  /** Hosts, ports and database, without user and password: for logs and messages. */
  readonly name: string
  /** In the order in which they are tried; one at least. */
  readonly hosts: readonly [DatabaseHost, ...DatabaseHost[]]
  /** Which of the hosts may be used: any that answers, or only one that takes writes. */
  readonly session: 'any' | 'read-write'
  readonly database: string
  readonly user: string | undefined
  /** Undefined: the client looks into `PGPASSWORD` and the account's password file. */
  readonly password: string | undefined
  readonly applicationName: string
  readonly connectMsMax: number
  /** False for a plain connection. */
  readonly tls: false | ConnectionOptions
}

export interface DatabaseHost {
  /** A name, an address, or the folder of a socket. */
  readonly host: string
  readonly port: number
}

const DEFAULT_PORT = 5432
const PORT_MAX = 65_535
/** A primary and as many standbys as anybody has. */
const HOSTS_MAX = 16
const CONNECT_SECONDS = 5
const CONNECT_SECONDS_MAX = 300

const LIKE = 'it is no URL like postgres://user@host:5432/database'

/**
 * Reads `postgres://user:password@host:port/database?sslmode=…`, where several hosts are separated
 * by commas. Throws a Fault (`storage-address`) that says what is wrong and never shows the URL: it
 * may hold a password.
 */
export function parseDatabaseUrl(text: string): DatabaseTarget {
  const { url, authorities } = splitHosts(text)
  const settings = settingsOf(url)
  const hosts = hostsOf(authorities, settings)
  const database = decoded(url.pathname.slice(1))
  if (database === '' || database.includes('/')) throw addressFault('it names no database')
  const shown = hosts.map(({ host, port }) => `${host}:${port}`).join(',')
  return {
    name: `${shown}/${database}`,
    hosts,
    session: sessionOf(settings, hosts.length),
    database,
    user: url.username === '' ? undefined : decoded(url.username),
    password: url.password === '' ? undefined : decoded(url.password),
    applicationName: settings.get('application_name') ?? 'reeve',
    connectMsMax: connectMs(settings.get('connect_timeout')),
    tls: tlsOf(hosts, settings),
  }
}

/** A URL has one host: each of several is read as one of its own. */
function splitHosts(text: string): {
  readonly url: URL
  readonly authorities: readonly URL[]
} {
  const [, scheme, user = '', named, rest] =
    /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/is.exec(text) ?? []
  if (scheme === undefined || named === undefined) throw addressFault(LIKE)
  const authorities = named.split(',').map((one) => URL.parse(`${scheme}${one}`))
  // A URL with a user has to have a host, and here `host` may name it.
  const url = URL.parse(`${scheme}${user}localhost${rest}`)
  const isRead = (one: URL | null): one is URL => one !== null
  if (!isRead(url) || !authorities.every(isRead)) throw addressFault(LIKE)
  return { url, authorities }
}

/** As PostgreSQL's own programs: `host` and `port` may be lists, and one port is for all hosts. */
function hostsOf(
  authorities: readonly URL[],
  settings: ReadonlyMap<SettingName, string>,
): DatabaseTarget['hosts'] {
  const names =
    settings.get('host')?.split(',') ?? authorities.map((one) => decoded(bareHost(one.hostname)))
  const ports = settings.get('port')?.split(',') ?? authorities.map((one) => one.port)
  if (ports.length !== 1 && ports.length !== names.length)
    throw addressFault(`it names ${names.length} hosts and ${ports.length} ports`)
  if (names.length > HOSTS_MAX) throw addressFault(`it names more than ${HOSTS_MAX} hosts`)
  const hosts = names.map((host, at) => {
    if (host === '') throw addressFault('it names no host')
    return { host, port: portOf(ports[at] ?? ports[0] ?? '') }
  })
  const [first, ...others] = hosts
  if (first === undefined) throw addressFault('it names no host')
  return [first, ...others]
}

function portOf(text: string): number {
  const port = text === '' ? DEFAULT_PORT : Number(text)
  if (!Number.isInteger(port) || port < 1 || port > PORT_MAX)
    throw addressFault(`a port is a number from 1 to ${PORT_MAX}`)
  return port
}

/** `primary` differs from `read-write` only for primaries that are read-only by their settings. */
const SESSIONS = ['any', 'read-write', 'primary'] as const

/** A server has to write: of several hosts it wants the one that it can write to. */
function sessionOf(
  settings: ReadonlyMap<SettingName, string>,
  hosts: number,
): DatabaseTarget['session'] {
  const given = settings.get('target_session_attrs') ?? (hosts > 1 ? 'read-write' : 'any')
  const session = SESSIONS.find((known) => known === given)
  if (session === undefined)
    throw addressFault(
      `target_session_attrs is one of ${SESSIONS.join(', ')}: a server has to write`,
    )
  return session === 'primary' ? 'read-write' : session
}

const SETTINGS = [
  'application_name',
  'connect_timeout',
  'host',
  'port',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
  'target_session_attrs',
] as const
type SettingName = (typeof SETTINGS)[number]

/** A setting that is not understood is refused: it may be the one that was to keep others out. */
function settingsOf(url: URL): ReadonlyMap<SettingName, string> {
  const settings = new Map<SettingName, string>()
  for (const [given, value] of url.searchParams) {
    const name = SETTINGS.find((known) => known === given)
    if (name === undefined)
      throw addressFault(
        `it has a setting ${JSON.stringify(given)}; known are ${SETTINGS.join(', ')}`,
      )
    settings.set(name, value)
  }
  return settings
}

/** An IPv6 address stands in brackets in a URL only. */
function bareHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (thrown) {
    if (!(thrown instanceof URIError)) throw thrown
    throw addressFault('it has a percent sign that begins no escape')
  }
}

function connectMs(given: string | undefined): number {
  const seconds = given === undefined ? CONNECT_SECONDS : Number(given)
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > CONNECT_SECONDS_MAX)
    throw addressFault(`connect_timeout is a number of seconds from 1 to ${CONNECT_SECONDS_MAX}`)
  return seconds * 1_000
}

const MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const

/**
 * The modes mean what they mean to PostgreSQL's own programs. Without one, a connection that leaves
 * the machine is encrypted and the server has to prove its name; `prefer` and `allow` look safe and
 * are not, so they are refused.
 */
function tlsOf(
  hosts: readonly DatabaseHost[],
  settings: ReadonlyMap<SettingName, string>,
): false | ConnectionOptions {
  const isLocal = hosts.every(({ host }) => isOnThisMachine(host))
  const given = settings.get('sslmode') ?? (isLocal ? 'disable' : 'verify-full')
  const mode = MODES.find((known) => known === given)
  if (mode === undefined) throw addressFault(`sslmode is one of ${MODES.join(', ')}`)
  if (mode === 'disable') return false
  const ca = fileIn(settings, 'sslrootcert')
  const cert = fileIn(settings, 'sslcert')
  const key = fileIn(settings, 'sslkey')
  const files = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
  // With a root certificate at hand `require` checks it, as PostgreSQL's own programs do.
  const isChecked = mode !== 'require' || ca !== undefined
  const isNamed = mode === 'verify-full'
  return {
    ...files,
    rejectUnauthorized: isChecked,
    ...(!isNamed && { checkServerIdentity: () => undefined }),
  }
}

function isOnThisMachine(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.')
}

function fileIn(settings: ReadonlyMap<SettingName, string>, name: SettingName): string | undefined {
  const path = settings.get(name)
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    throw addressFault(`${name} cannot be read: ${errorMessage(thrown)}`)
  }
}

function addressFault(wrong: string): Fault {
  return new Fault('storage-address', `The address of the database cannot be used: ${wrong}.`)
}
