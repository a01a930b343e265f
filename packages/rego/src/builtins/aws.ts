import { parseUrl, type UrlParts } from '@reeve/go-template/url'
import { floorDivide, toWallTime } from '@reeve/kit/calendar.ts'
import { hmac, SHA256 } from '@reeve/kit/hash.ts'
import { encodeHex } from '@reeve/kit/bytes.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { toJsonString } from '../value/json.ts'
import { toBigInt } from '../value/number.ts'
import { formatValue } from '../value/format.ts'
import { EMPTY_OBJECT, objectOf, ObjectValue, setOf } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString } from './operands.ts'

/**
 * Signature Version 4 of AWS: a pure function of the request, the keys and the time. Methods and
 * paths are signed as they are written, as the language's other implementations do it.
 */
export const AWS_BUILTINS: readonly Builtin[] = [
  define(
    {
      name: 'providers.aws.sign_req',
      operands: ['object', 'object', 'number'],
      result: 'object',
    },
    (context, request, config, time) => {
      const fields = readFields(request, REQUEST)
      if (!fields.ok) return context.failType(`operand 1 ${fields.problem}`)
      const keys = readFields(config, CONFIG)
      if (!keys.ok) return context.failType(`operand 2 ${keys.problem}`)
      const unsigned = config.get('disable_payload_signing') ?? false
      if (typeof unsigned !== 'boolean')
        return context.failType(
          "operand 2 invalid value for 'disable_payload_signing' in AWS config",
        )
      const ns = toBigInt(time)
      if (ns === undefined || ns < 0n || ns > NS_MAX)
        return context.failType('operand 3 could not convert time_ns value into a unix timestamp')
      const body = bodyOf(request)
      chargeForString(context, body.length)
      context.charge(Math.ceil(body.length / SHA256.blockSize) * 4)
      const payload = unsigned ? 'UNSIGNED-PAYLOAD' : sha256Hex(body)
      return signed(context, { request, config, stamp: stampOf(ns), payload })
    },
  ),
]

const NS_MAX = 253_402_300_799_999_999_999n
const REQUEST = { names: ['method', 'url'], what: 'request' } as const
const CONFIG = {
  names: ['aws_access_key', 'aws_region', 'aws_secret_access_key', 'aws_service'],
  what: 'AWS config',
} as const

type Fields = { readonly ok: true } | { readonly ok: false; readonly problem: string }

/** All of them must be there and be strings. */
function readFields(
  object: ObjectValue,
  { names, what }: { readonly names: readonly string[]; readonly what: string },
): Fields {
  const missing = names.filter((name) => object.get(name) === undefined)
  if (missing.length > 0)
    return { ok: false, problem: `missing required ${what} parameters(s): ${listed(missing)}` }
  const invalid = names.filter((name) => typeof object.get(name) !== 'string')
  if (invalid.length === 0) return { ok: true }
  const problem = `invalid values for required ${what} parameters(s): ${listed(invalid)}`
  return { ok: false, problem }
}

function listed(names: readonly string[]): string {
  return formatValue(setOf(names))
}

/** The raw body where there is one, else the body as JSON. */
function bodyOf(request: ObjectValue): string {
  const raw = request.get('raw_body')
  if (typeof raw === 'string') return raw
  const body = request.get('body')
  return body === undefined ? '' : toJsonString(body)
}

/** `20151228T140825Z` */
function stampOf(ns: bigint): string {
  const time = toWallTime(Number(floorDivide(ns, 1_000_000n)))
  const two = (value: number): string => String(value).padStart(2, '0')
  const date = `${String(time.year).padStart(4, '0')}${two(time.month)}${two(time.day)}`
  return `${date}T${two(time.hour)}${two(time.minute)}${two(time.second)}Z`
}

interface Signing {
  readonly request: ObjectValue
  readonly config: ObjectValue
  readonly stamp: string
  /** The hash of the body, or that it is not signed. */
  readonly payload: string
}

function signed(context: CallContext, { request, config, stamp, payload }: Signing) {
  const url = parseUrl(textAt(request, 'url'))
  if (!url.ok) return context.fail(url.error)
  const service = textAt(config, 'aws_service')
  const own = ownHeaders(request)
  if (own === undefined) return context.failType('operand 1 invalid values for headers')
  const headers = new Map([...own].map(([name, value]) => [name.toLowerCase(), value]))
  const set = (name: string, value: string): void => {
    for (const known of own.keys()) if (known.toLowerCase() === name) own.delete(known)
    own.set(name, value)
    headers.set(name, value)
  }
  set('host', hostOf(url.value))
  set('x-amz-date', stamp)
  if (PAYLOAD_HEADER_SERVICES.has(service)) set('x-amz-content-sha256', payload)
  const token = config.get('aws_session_token')
  if (typeof token === 'string') set('x-amz-security-token', token)
  const method = textAt(request, 'method')
  const canonical = canonicalRequest({ method, url: url.value, headers, payload })
  chargeForString(context, canonical.length)
  const authorization = authorizationOf(config, { canonical, stamp, names: namesOf(headers) })
  const all = objectOf([...own, ['Authorization', authorization]])
  return objectOf([...request.entries().filter(([name]) => name !== 'headers'), ['headers', all]])
}

const PAYLOAD_HEADER_SERVICES = new Set(['s3', 'glacier'])

interface Canonical {
  readonly method: string
  readonly url: UrlParts
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>
  readonly payload: string
}

function canonicalRequest({ method, url, headers, payload }: Canonical): string {
  const names = namesOf(headers)
  const path = url.raw_path === '' ? url.path : url.raw_path
  const lines = names.map((name) => `${name}:${headers.get(name)}`)
  return [method, path, url.raw_query, ...lines, '', names.join(';'), payload].join('\n')
}

interface ToSign {
  readonly canonical: string
  readonly stamp: string
  readonly names: readonly string[]
}

function authorizationOf(config: ObjectValue, { canonical, stamp, names }: ToSign): string {
  const region = textAt(config, 'aws_region')
  const scope = [stamp.slice(0, 8), region, textAt(config, 'aws_service'), 'aws4_request']
  const text = ['AWS4-HMAC-SHA256', stamp, scope.join('/'), sha256Hex(canonical)].join('\n')
  let key = encodeUtf8(`AWS4${textAt(config, 'aws_secret_access_key')}`)
  for (const part of [...scope, text]) key = hmac(SHA256, key, encodeUtf8(part))
  const credential = `${textAt(config, 'aws_access_key')}/${scope.join('/')}`
  return `AWS4-HMAC-SHA256 Credential=${credential},SignedHeaders=${names.join(';')},Signature=${encodeHex(key)}`
}

function namesOf(headers: ReadonlyMap<string, string>): readonly string[] {
  return [...headers.keys()].toSorted()
}

function hostOf({ hostname, port }: UrlParts): string {
  return port === '' ? hostname : `${hostname}:${port}`
}

/** The headers of the request as they are written; undefined when one is not a string. */
function ownHeaders(request: ObjectValue): Map<string, string> | undefined {
  const headers = request.get('headers') ?? EMPTY_OBJECT
  if (!(headers instanceof ObjectValue)) return undefined
  const found = new Map<string, string>()
  for (const [name, value] of headers.entries()) {
    if (typeof name !== 'string' || typeof value !== 'string') return undefined
    found.set(name, value)
  }
  return found
}

/** Checked to be one before. */
function textAt(object: ObjectValue, name: string): string {
  const value = object.get(name)
  return typeof value === 'string' ? value : ''
}

function sha256Hex(text: string): string {
  return encodeHex(SHA256.digest(encodeUtf8(text)))
}
