import { isAbsolute, resolve } from 'node:path'
import { isList, isObject, toBool, toNumber, toText } from '@reeve/hcl'
import { formatDurationNs, nsFromMs, parseDurationMs } from '@reeve/kit/duration.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { formatAddress, isHost, parseAddress, PORT_MAX, type Address } from './address.ts'
import { replace, type OptionType, type JsonSettingValue } from './option.ts'
import { Secret } from './agent-config.ts'

/** The definition of a kind that is a string in all sources. */
interface StringForm<T> {
  readonly name: string
  /** Completes "must be" in error messages. */
  readonly rule: string
  readonly parse: (text: string) => T | undefined
  readonly toPlain: (value: T) => JsonSettingValue
}

function stringType<T>({ name, rule, parse, toPlain }: StringForm<T>): OptionType<T> {
  const read = (text: string): Result<T, string> => {
    const value = parse(text)
    return value === undefined ? err(rule) : ok(value)
  }
  return {
    name,
    flag: 'once',
    isMap: false,
    isSecret: false,
    fromValue: (value) => (typeof value === 'string' ? read(value) : err(`${rule}, in quotes`)),
    fromString: read,
    merge: replace,
    toJson: toPlain,
  }
}

const identity = (text: string): string => text

export function stringMatching(wanted: string, pattern: RegExp): OptionType<string> {
  const parse = (text: string): string | undefined => (pattern.test(text) ? text : undefined)
  return stringType({ name: 'text', rule: wanted, parse, toPlain: identity })
}

/** A string that satisfies a predicate. */
export function stringAcceptedBy(
  wanted: string,
  accepts: (text: string) => boolean,
): OptionType<string> {
  const parse = (text: string): string | undefined => (accepts(text) ? text : undefined)
  return stringType({ name: 'text', rule: wanted, parse, toPlain: identity })
}

/** Case-insensitive, because files often use `INFO`. */
export function oneOf<T extends string>(values: readonly T[]): OptionType<T> {
  const parse = (text: string): T | undefined =>
    values.find((value) => value === text.toLowerCase())
  const name = values.map((value) => `\`${value}\``).join(', ')
  return stringType<T>({ name, rule: `one of ${values.join(', ')}`, parse, toPlain: identity })
}

/** A duration in milliseconds, written as `90s`, `24h` or `1h30m`. */
export function duration({ msMin, msMax }: { msMin: number; msMax: number }): OptionType<number> {
  const show = (ms: number): string =>
    formatDurationNs(nsFromMs(ms)).replace(/(?<=[hm])0[ms].*$/, '')
  const range = `from ${show(msMin)} to ${show(msMax)}`
  return stringType({
    name: `duration ${range}`,
    rule: `a duration such as "90s" or "24h", ${range}`,
    parse: (text) => {
      const ms = parseDurationMs(text)
      return ms === undefined || ms < msMin || ms > msMax ? undefined : ms
    },
    toPlain: show,
  })
}

/** An IP address or host name without a port. */
export const host: OptionType<string> = stringType({
  name: 'IP address or host name',
  rule: 'an IP address or a host name, without scheme and port',
  parse: (text) => (isHost(text) ? text : undefined),
  toPlain: identity,
})

const ADDRESS_RULE = 'a host or host:port without scheme, an IPv6 address with a port in brackets'

export const address: OptionType<Address> = stringType({
  name: 'host or `host:port`',
  rule: ADDRESS_RULE,
  parse: parseAddress,
  toPlain: ({ host: name, port }) => (port === undefined ? name : formatAddress(name, port)),
})

/** A `host:port`; a missing port is added. */
export function endpoint(portDefault: number): OptionType<string> {
  return stringType({
    name: '`host:port`',
    rule: ADDRESS_RULE,
    parse: (text) => {
      const parsed = parseAddress(text)
      return parsed && formatAddress(parsed.host, parsed.port ?? portDefault)
    },
    toPlain: identity,
  })
}

/** The usual OTLP path below the URL of a collector. */
const TRACES_PATH = '/v1/traces'

/** The URL of a trace collector; a missing path is added. */
export const collectorUrl: OptionType<string> = stringType({
  name: 'URL of a collector',
  rule: 'a URL such as "http://127.0.0.1:4318", without user, password, query and fragment',
  parse: (text) => {
    const url = URL.parse(text)
    if (url === null || !/^https?:$/.test(url.protocol)) return undefined
    if (url.username !== '' || url.password !== '') return undefined
    if (url.search !== '' || url.hash !== '') return undefined
    if (url.pathname === '/') url.pathname = TRACES_PATH
    return url.href
  },
  toPlain: identity,
})

/** An origin as browsers send it. */
export const origin: OptionType<string> = stringType({
  name: 'origin',
  rule: '"*" or an origin such as "https://ui.example.com", without path',
  parse: (text) => (text === '*' || isOrigin(text) ? text : undefined),
  toPlain: identity,
})

/** The external URL of this server; empty if not set. */
export const optionalOrigin: OptionType<string> = stringType({
  name: 'address',
  rule: 'an address such as "https://reeve.example.com", without path',
  parse: (text) => (text === '' || isOrigin(text) ? text : undefined),
  toPlain: identity,
})

function isOrigin(text: string): boolean {
  return /^https?:\/\//.test(text) && URL.parse(text)?.origin === text
}

/** Ports and port ranges: `22,80,8500-8600`. */
export const portRanges: OptionType<string> = stringType({
  name: 'port ranges',
  rule: 'ports and ranges of ports such as "22,80,8500-8600"',
  parse: (text) => (text === '' || text.split(',').every(isPortRange) ? text : undefined),
  toPlain: identity,
})

function isPortRange(text: string): boolean {
  const [, first, last = first] = /^([0-9]{1,5})(?:-([0-9]{1,5}))?$/.exec(text) ?? []
  return first !== undefined && Number(first) <= Number(last) && Number(last) <= PORT_MAX
}

/** Minimum length of a join token, because whoever guesses it can add a node and receive work. */
const SECRET_CHARS_MIN = 16
const SECRET_CHARS_MAX = 1_024

export const secret: OptionType<Secret> = {
  ...stringType<Secret>({
    name: 'secret text',
    rule: `text of ${SECRET_CHARS_MIN} to ${SECRET_CHARS_MAX} characters`,
    parse: (text) =>
      text.length < SECRET_CHARS_MIN || text.length > SECRET_CHARS_MAX
        ? undefined
        : new Secret(text),
    toPlain: (value) => value.toJSON(),
  }),
  isSecret: true,
}

/** The URL of a database; secret, because it may contain a password. */
export const databaseUrl: OptionType<Secret> = {
  ...stringType<Secret>({
    name: 'URL of a database',
    rule: 'a URL such as postgres://reeve@db.example:5432/reeve',
    parse: (text) => (/^postgres(ql)?:\/\/.{1,2000}$/.test(text) ? new Secret(text) : undefined),
    toPlain: (value) => value.toJSON(),
  }),
  isSecret: true,
}

/**
 * A path. Relative paths start at the working directory; files must use absolute ones, because an
 * agent may read them from any directory.
 */
export const path: OptionType<string> = {
  name: 'path',
  flag: 'once',
  isMap: false,
  isSecret: false,
  fromValue: (value) =>
    typeof value === 'string' && isAbsolute(value) && isPath(value)
      ? ok(resolve(value))
      : err('an absolute path'),
  fromString: (text, { workingDirectory }) =>
    isPath(text) ? ok(resolve(workingDirectory, text)) : err('a path'),
  merge: replace,
  toJson: identity,
}

/** Rejects NUL, which ends paths, and the empty path, which would mean the working directory. */
function isPath(text: string): boolean {
  return text !== '' && !text.includes('\0')
}

export const bool: OptionType<boolean> = {
  name: '`true` or `false`',
  flag: 'switch',
  isMap: false,
  isSecret: false,
  fromValue: (value) => okOrRule(toBool(value), 'true or false'),
  fromString: (text) => okOrRule(toBool(text), 'true or false'),
  merge: replace,
  toJson: (value) => value,
}

function okOrRule<T>(value: T | undefined, wanted: string): Result<T, string> {
  return value === undefined ? err(wanted) : ok(value)
}

interface IntegerRange {
  readonly min: number
  readonly max: number
}

export function integer({ min, max }: IntegerRange): OptionType<number> {
  const inRange = (value: unknown): Result<number, string> =>
    typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max
      ? ok(value)
      : err(`a whole number from ${min} to ${max}`)
  return {
    name: `number from ${min} to ${max}`,
    flag: 'once',
    isMap: false,
    isSecret: false,
    fromValue: (value) => inRange(toNumber(value)),
    fromString: (text) => inRange(/^-?[0-9]{1,16}$/.test(text) ? Number(text) : undefined),
    merge: replace,
    toJson: (value) => value,
  }
}

/** Maximum number of entries; more indicate a bug in a program that generated the file. */
const ENTRIES_MAX = 256

/** A list: comma-separated in the environment, repeated as flags. */
export function listOf<T>(element: OptionType<T>): OptionType<readonly T[]> {
  return {
    name: `list of ${element.name}`,
    flag: 'repeated',
    isMap: false,
    isSecret: element.isSecret,
    fromValue: (value) =>
      isList(value) ? readElements(value, (one) => element.fromValue(one)) : err('a list'),
    fromString: (text, place) =>
      readElements(splitList(text), (one) => element.fromString(one, place)),
    merge: replace,
    toJson: (values) =>
      values.flatMap((value) => {
        const shown = element.toJson(value)
        return typeof shown === 'string' ? [shown] : []
      }),
  }
}

function splitList(text: string): readonly string[] {
  const parts = text.split(',').map((part) => part.trim())
  return parts.filter((part) => part !== '')
}

function readElements<P, T>(
  parts: readonly P[],
  read: (part: P) => Result<T, string>,
): Result<readonly T[], string> {
  if (parts.length > ENTRIES_MAX) return err(`a list of at most ${ENTRIES_MAX}`)
  const values: T[] = []
  for (const part of parts) {
    const one = read(part)
    if (!one.ok) return err(`a list in which each is ${one.error}`)
    values.push(one.value)
  }
  return ok(values)
}

interface MapPatterns {
  readonly name: RegExp
  readonly value: RegExp
  /** Completes "must be a map of names to text; " in error messages. */
  readonly rule: string
}

/** A map of strings; numbers and bools are converted. Not available as a flag or variable. */
export function mapOf(rules: MapPatterns): OptionType<Readonly<Record<string, string>>> {
  const wanted = `a map of at most ${ENTRIES_MAX} names to text; ${rules.rule}`
  return {
    name: 'map of text',
    flag: 'once',
    isMap: true,
    isSecret: false,
    fromValue: (value) => {
      const pairs = isObject(value) ? Object.entries(value) : undefined
      if (pairs === undefined || pairs.length > ENTRIES_MAX) return err(wanted)
      const texts: [string, string][] = []
      for (const [name, member] of pairs) {
        const text = toText(member)
        if (text === undefined || !rules.name.test(name) || !rules.value.test(text))
          return err(`${wanted} (look at ${JSON.stringify(name.slice(0, 64))})`)
        texts.push([name, text])
      }
      return ok(Object.fromEntries(texts))
    },
    fromString: () => err(`${wanted}, which only a file can hold`),
    merge: (lower, higher) => ({ ...lower, ...higher }),
    toJson: (value) => value,
  }
}
