import { isAbsolute, resolve } from 'node:path'
import { formatDurationNs, nsFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { formatAddress, isHost, parseAddress, PORT_MAX, type Address } from './address.ts'
import { takeHigher, type Kind, type PlainValue } from './kind.ts'
import { Secret } from './secret.ts'

/** A value that every source writes as one text. */
interface TextForm<T> {
  readonly name: string
  /** Reads after "must be". */
  readonly wanted: string
  readonly parse: (text: string) => T | undefined
  readonly toPlain: (value: T) => PlainValue
}

function textKind<T>({ name, wanted, parse, toPlain }: TextForm<T>): Kind<T> {
  const read = (text: string): Result<T, string> => {
    const value = parse(text)
    return value === undefined ? err(wanted) : ok(value)
  }
  return {
    name,
    flag: 'once',
    isMap: false,
    isSecret: false,
    fromValue: (value) => (typeof value === 'string' ? read(value) : err(`${wanted}, in quotes`)),
    fromText: read,
    merge: takeHigher,
    toPlain,
  }
}

const asWritten = (text: string): string => text

export function matching(wanted: string, pattern: RegExp): Kind<string> {
  const parse = (text: string): string | undefined => (pattern.test(text) ? text : undefined)
  return textKind({ name: 'text', wanted, parse, toPlain: asWritten })
}

/** A text that a function accepts. */
export function accepted(wanted: string, accepts: (text: string) => boolean): Kind<string> {
  const parse = (text: string): string | undefined => (accepts(text) ? text : undefined)
  return textKind({ name: 'text', wanted, parse, toPlain: asWritten })
}

/** Case does not matter: `INFO` is habit in files. */
export function oneOf<T extends string>(values: readonly T[]): Kind<T> {
  const parse = (text: string): T | undefined =>
    values.find((value) => value === text.toLowerCase())
  const name = values.map((value) => `\`${value}\``).join(', ')
  return textKind<T>({ name, wanted: `one of ${values.join(', ')}`, parse, toPlain: asWritten })
}

/** In milliseconds; written as `90s`, `24h`, `1h30m`. */
export function duration({ msMin, msMax }: { msMin: number; msMax: number }): Kind<number> {
  const show = (ms: number): string =>
    formatDurationNs(nsFromMs(ms)).replace(/(?<=[hm])0[ms].*$/, '')
  const range = `from ${show(msMin)} to ${show(msMax)}`
  return textKind({
    name: `duration ${range}`,
    wanted: `a duration such as "90s" or "24h", ${range}`,
    parse: (text) => {
      const ms = parseDurationMs(text)
      return ms === undefined || ms < msMin || ms > msMax ? undefined : ms
    },
    toPlain: show,
  })
}

/** An IP address or a name of one, without port. */
export const host: Kind<string> = textKind({
  name: 'IP address or host name',
  wanted: 'an IP address or a host name, without scheme and port',
  parse: (text) => (isHost(text) ? text : undefined),
  toPlain: asWritten,
})

const ADDRESS_WANTED = 'a host or host:port without scheme, an IPv6 address with a port in brackets'

export const address: Kind<Address> = textKind({
  name: 'host or `host:port`',
  wanted: ADDRESS_WANTED,
  parse: parseAddress,
  toPlain: ({ host: name, port }) => (port === undefined ? name : formatAddress(name, port)),
})

/** As `host:port`, the port filled in. */
export function endpoint(portDefault: number): Kind<string> {
  return textKind({
    name: '`host:port`',
    wanted: ADDRESS_WANTED,
    parse: (text) => {
      const parsed = parseAddress(text)
      return parsed && formatAddress(parsed.host, parsed.port ?? portDefault)
    },
    toPlain: asWritten,
  })
}

/** Where OTLP over HTTP is received, below the address of a collector. */
const TRACES_PATH = '/v1/traces'

/** The URL that a collector of traces takes them at; its usual path is filled in. */
export const collector: Kind<string> = textKind({
  name: 'URL of a collector',
  wanted: 'a URL such as "http://127.0.0.1:4318", without user, password, query and fragment',
  parse: (text) => {
    const url = URL.parse(text)
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined
    if (url.username !== '' || url.password !== '') return undefined
    if (url.search !== '' || url.hash !== '') return undefined
    if (url.pathname === '/') url.pathname = TRACES_PATH
    return url.href
  },
  toPlain: asWritten,
})

/** A page's origin as browsers send it. */
export const origin: Kind<string> = textKind({
  name: 'origin',
  wanted: '"*" or an origin such as "https://ui.example.com", without path',
  parse: (text) => (text === '*' || isOrigin(text) ? text : undefined),
  toPlain: asWritten,
})

/** Where this server is found from outside; empty when that is not said. */
export const outsideAddress: Kind<string> = textKind({
  name: 'address',
  wanted: 'an address such as "https://reeve.example.com", without path',
  parse: (text) => (text === '' || isOrigin(text) ? text : undefined),
  toPlain: asWritten,
})

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.parse(text)?.origin === text
}

/** `22,80,8500-8600`. */
export const portRanges: Kind<string> = textKind({
  name: 'port ranges',
  wanted: 'ports and ranges of ports such as "22,80,8500-8600"',
  parse: (text) => (text === '' || text.split(',').every(isPortRange) ? text : undefined),
  toPlain: asWritten,
})

function isPortRange(text: string): boolean {
  const [, first, last = first] = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(text) ?? []
  return first !== undefined && Number(first) <= Number(last) && Number(last) <= PORT_MAX
}

/** Short ones could be guessed: whoever has it can join a node and be given work. */
const SECRET_CHARS_MIN = 16
const SECRET_CHARS_MAX = 1_024

export const secret: Kind<Secret> = {
  ...textKind<Secret>({
    name: 'secret text',
    wanted: `text of ${SECRET_CHARS_MIN} to ${SECRET_CHARS_MAX} characters`,
    parse: (text) =>
      text.length < SECRET_CHARS_MIN || text.length > SECRET_CHARS_MAX
        ? undefined
        : new Secret(text),
    toPlain: (value) => value.toJSON(),
  }),
  isSecret: true,
}

/** The address of a database. Secret as a whole, because a password may be in it. */
export const databaseUrl: Kind<Secret> = {
  ...textKind<Secret>({
    name: 'URL of a database',
    wanted: 'a URL such as postgres://reeve@db.example:5432/reeve',
    parse: (text) => (/^postgres(ql)?:\/\/.{1,2000}$/.test(text) ? new Secret(text) : undefined),
    toPlain: (value) => value.toJSON(),
  }),
  isSecret: true,
}

/** Relative to the working directory, but not in a file: it may be read from any. */
export const path: Kind<string> = {
  name: 'path',
  flag: 'once',
  isMap: false,
  isSecret: false,
  fromValue: (value) =>
    typeof value === 'string' && isAbsolute(value) && isPath(value)
      ? ok(resolve(value))
      : err('an absolute path'),
  fromText: (text, { workingDirectory }) =>
    isPath(text) ? ok(resolve(workingDirectory, text)) : err('a path'),
  merge: takeHigher,
  toPlain: asWritten,
}

/** The system ends paths at NUL, and an empty one would be the working directory. */
function isPath(text: string): boolean {
  return text !== '' && !text.includes('\0')
}
