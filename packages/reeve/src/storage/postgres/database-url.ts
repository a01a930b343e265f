import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'

/** Connection settings of a database, parsed from a URL; contains the password. */
export interface DatabaseTarget {
  /** Hosts, ports and database, without user and password: for logs and messages. */
  readonly name: string
  /** Hosts in the order in which they are tried; at least one. */
  readonly hosts: readonly [DatabaseHost, ...DatabaseHost[]]
  /** Whether any responding host may be used, or only a writable one. */
  readonly session: 'any' | 'read-write'
  readonly database: string
  readonly user: string | undefined
  /** If undefined, the client uses `PGPASSWORD` or the password file of the account. */
  readonly password: string | undefined
  readonly applicationName: string
  readonly connectMsMax: number
  /** False for a plain connection. */
  readonly tls: false | ConnectionOptions
}

export interface DatabaseHost {
  /** Host name, address, or directory of a Unix socket. */
  readonly host: string
  readonly port: number
}

const DEFAULT_PORT = 5432
const PORT_MAX = 65_535
/** Maximum number of hosts. */
const HOSTS_MAX = 16
const DEFAULT_CONNECT_SECONDS = 5
const CONNECT_SECONDS_MAX = 300

const FORMAT_HINT = 'it is no URL like postgres://user@host:5432/database'

/**
 * Parses `postgres://user:password@host:port/database?sslmode=…`, where several hosts are separated
 * by commas. Throws a Fault (`storage-address`) that states the problem without showing the URL,
 * which may contain a password.
 */
export function parseDatabaseUrl(text: string): DatabaseTarget {
  const { url, authorities } = splitHosts(text)
  const settings = parseSettings(url)
  const hosts = parseHosts(authorities, settings)
  const database = decodePercent(url.pathname.slice(1))
  if (database === '' || database.includes('/')) throw invalidUrl('it names no database')
  const hostList = hosts.map(({ host, port }) => `${host}:${port}`).join(',')
  return {
    name: `${hostList}/${database}`,
    hosts,
    session: parseSession(settings, hosts.length),
    database,
    user: url.username === '' ? undefined : decodePercent(url.username),
    password: url.password === '' ? undefined : decodePercent(url.password),
    applicationName: settings.get('application_name') ?? 'reeve',
    connectMsMax: parseConnectTimeoutMs(settings.get('connect_timeout')),
    tls: parseTls(hosts, settings),
  }
}

/** Splits the host list: each host is parsed as a URL of its own. */
function splitHosts(text: string): {
  readonly url: URL
  readonly authorities: readonly URL[]
} {
  const [, scheme, user = '', hostList, rest] =
    /^(postgres(?:ql)?:\/\/)([^/?#]*@)?([^/?#]*)(.*)$/is.exec(text) ?? []
  if (scheme === undefined || hostList === undefined) throw invalidUrl(FORMAT_HINT)
  const authorities = hostList.split(',').map((one) => URL.parse(`${scheme}${one}`))
  // A URL with a user needs a host, but here the setting `host` may name it.
  const url = URL.parse(`${scheme}${user}localhost${rest}`)
  const isParsed = (one: URL | null): one is URL => one !== null
  if (!isParsed(url) || !authorities.every(isParsed)) throw invalidUrl(FORMAT_HINT)
  return { url, authorities }
}

/** As in libpq, `host` and `port` may be lists, and one port applies to all hosts. */
function parseHosts(
  authorities: readonly URL[],
  settings: ReadonlyMap<SettingName, string>,
): DatabaseTarget['hosts'] {
  const names =
    settings.get('host')?.split(',') ??
    authorities.map((one) => decodePercent(bareHost(one.hostname)))
  const ports = settings.get('port')?.split(',') ?? authorities.map((one) => one.port)
  if (ports.length !== 1 && ports.length !== names.length)
    throw invalidUrl(`it names ${names.length} hosts and ${ports.length} ports`)
  if (names.length > HOSTS_MAX) throw invalidUrl(`it names more than ${HOSTS_MAX} hosts`)
  const hosts = names.map((host, at) => {
    if (host === '') throw invalidUrl('it names no host')
    return { host, port: parsePort(ports[at] ?? ports[0] ?? '') }
  })
  const [first, ...others] = hosts
  if (first === undefined) throw invalidUrl('it names no host')
  return [first, ...others]
}

function parsePort(text: string): number {
  const port = text === '' ? DEFAULT_PORT : Number(text)
  if (!Number.isInteger(port) || port < 1 || port > PORT_MAX)
    throw invalidUrl(`a port is a number from 1 to ${PORT_MAX}`)
  return port
}

/** `primary` differs from `read-write` only for primaries that are read-only by their settings. */
const SESSION_ATTRIBUTES = ['any', 'read-write', 'primary'] as const

/** A server must write: of several hosts it needs the writable one. */
function parseSession(
  settings: ReadonlyMap<SettingName, string>,
  hosts: number,
): DatabaseTarget['session'] {
  const requested = settings.get('target_session_attrs') ?? (hosts > 1 ? 'read-write' : 'any')
  const session = SESSION_ATTRIBUTES.find((known) => known === requested)
  if (session === undefined)
    throw invalidUrl(
      `target_session_attrs is one of ${SESSION_ATTRIBUTES.join(', ')}: a server has to write`,
    )
  return session === 'primary' ? 'read-write' : session
}

const SETTING_NAMES = [
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
type SettingName = (typeof SETTING_NAMES)[number]

/** Rejects unknown settings, because they may be meant to restrict access. */
function parseSettings(url: URL): ReadonlyMap<SettingName, string> {
  const settings = new Map<SettingName, string>()
  for (const [rawName, value] of url.searchParams) {
    const name = SETTING_NAMES.find((known) => known === rawName)
    if (name === undefined)
      throw invalidUrl(
        `it has a setting ${JSON.stringify(rawName)}; known are ${SETTING_NAMES.join(', ')}`,
      )
    settings.set(name, value)
  }
  return settings
}

/** Only URLs put IPv6 addresses in brackets. */
function bareHost(hostname: string): string {
  return hostname.startsWith('[') ? hostname.slice(1, -1) : hostname
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch (thrown) {
    if (!(thrown instanceof URIError)) throw thrown
    throw invalidUrl('it has a percent sign that begins no escape')
  }
}

function parseConnectTimeoutMs(text: string | undefined): number {
  const seconds = text === undefined ? DEFAULT_CONNECT_SECONDS : Number(text)
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > CONNECT_SECONDS_MAX)
    throw invalidUrl(`connect_timeout is a number of seconds from 1 to ${CONNECT_SECONDS_MAX}`)
  return seconds * 1_000
}

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const

/**
 * The modes mean the same as in libpq. By default remote connections are encrypted and the server
 * certificate is verified; `prefer` and `allow` look safe but are not, so they are rejected.
 */
function parseTls(
  hosts: readonly DatabaseHost[],
  settings: ReadonlyMap<SettingName, string>,
): false | ConnectionOptions {
  const isLocal = hosts.every(({ host }) => isLocalHost(host))
  const requested = settings.get('sslmode') ?? (isLocal ? 'disable' : 'verify-full')
  const mode = SSL_MODES.find((known) => known === requested)
  if (mode === undefined) throw invalidUrl(`sslmode is one of ${SSL_MODES.join(', ')}`)
  if (mode === 'disable') return false
  const ca = readFileSetting(settings, 'sslrootcert')
  const cert = readFileSetting(settings, 'sslcert')
  const key = readFileSetting(settings, 'sslkey')
  const files = { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) }
  // With a root certificate `require` verifies it, as libpq does.
  const verifiesCertificate = mode !== 'require' || ca !== undefined
  const verifiesHostName = mode === 'verify-full'
  return {
    ...files,
    rejectUnauthorized: verifiesCertificate,
    ...(!verifiesHostName && { checkServerIdentity: () => undefined }),
  }
}

function isLocalHost(host: string): boolean {
  return host.startsWith('/') || host === 'localhost' || host === '::1' || host.startsWith('127.')
}

function readFileSetting(
  settings: ReadonlyMap<SettingName, string>,
  name: SettingName,
): string | undefined {
  const path = settings.get(name)
  if (path === undefined) return undefined
  try {
    return readFileSync(path, 'utf8')
  } catch (thrown) {
    throw invalidUrl(`${name} cannot be read: ${errorMessage(thrown)}`)
  }
}

function invalidUrl(problem: string): Fault {
  return new Fault('storage-address', `The address of the database cannot be used: ${problem}.`)
}

/**
 * Selects the host for new connections. All connections of a process share it: as soon as one has
 * found the primary, the others use it too.
 */
export class DatabaseHosts {
  readonly #hosts: DatabaseTarget['hosts']
  #position = 0

  constructor(hosts: DatabaseTarget['hosts']) {
    this.#hosts = hosts
  }

  get count(): number {
    return this.#hosts.length
  }

  get current(): DatabaseHost {
    return this.#hosts[this.#position] ?? this.#hosts[0]
  }

  /**
   * Switches to the next host after this one did not respond or is read-only, unless another
   * connection already switched.
   */
  tryNext(host: DatabaseHost): void {
    if (this.current === host) this.#position = (this.#position + 1) % this.#hosts.length
  }
}
