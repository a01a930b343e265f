import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import { Fault, messageOf } from '../../kit/fault.ts'

/** Where a database is and how to talk to it. Made from a URL; holds the password. */
export interface DatabaseTarget {
  /** Host, port and database, without user and password: for logs and messages. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly database: string
  readonly user: string | undefined
  /** Undefined: the client looks into `PGPASSWORD` and the account's password file. */
  readonly password: string | undefined
  readonly applicationName: string
  readonly connectMsMax: number
  /** False for a plain connection. */
  readonly tls: false | ConnectionOptions
}

const DEFAULT_PORT = 5432
const CONNECT_SECONDS = 5
const CONNECT_SECONDS_MAX = 300

/**
 * Reads `postgres://user:password@host:port/database?sslmode=…`. Throws a Fault (`storage-address`)
 * that says what is wrong and never shows the URL: it may hold a password.
 */
export function parseDatabaseUrl(text: string): DatabaseTarget {
  const url = URL.parse(text)
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol))
    throw addressFault('it is no URL like postgres://user@host:5432/database')
  const settings = settingsOf(url)
  const host = settings.get('host') ?? decoded(bareHost(url.hostname))
  if (host === '') throw addressFault('it names no host')
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port)
  const database = decoded(url.pathname.slice(1))
  if (database === '' || database.includes('/')) throw addressFault('it names no database')
  return {
    name: `${host}:${port}/${database}`,
    host,
    port,
    database,
    user: url.username === '' ? undefined : decoded(url.username),
    password: url.password === '' ? undefined : decoded(url.password),
    applicationName: settings.get('application_name') ?? 'reeve',
    connectMsMax: connectMs(settings.get('connect_timeout')),
    tls: tlsOf(host, settings),
  }
}

const SETTINGS = [
  'application_name',
  'connect_timeout',
  'host',
  'sslcert',
  'sslkey',
  'sslmode',
  'sslrootcert',
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
  host: string,
  settings: ReadonlyMap<SettingName, string>,
): false | ConnectionOptions {
  const given = settings.get('sslmode') ?? (isOnThisMachine(host) ? 'disable' : 'verify-full')
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
    throw addressFault(`${name} cannot be read: ${messageOf(thrown)}`)
  }
}

function addressFault(wrong: string): Fault {
  return new Fault('storage-address', `The address of the database cannot be used: ${wrong}.`)
}
