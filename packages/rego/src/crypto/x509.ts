import {
  bitStringOf,
  integerOf,
  isWellFormed,
  sequenceItems,
  oidOf,
  readSingleDer,
  DER_TAG,
  type DerItem,
} from '@reeve/kit/der.ts'
import { decodeUtf8Lossy } from '@reeve/kit/utf8.ts'

/** One part of a name, such as its country. */
export interface NamePart {
  readonly oid: string
  readonly text: string
}
export interface Name {
  readonly whole: Uint8Array
  readonly parts: readonly NamePart[]
}
export interface Extension {
  readonly oid: string
  readonly isCritical: boolean
  readonly value: Uint8Array
}

export interface Certificate {
  readonly whole: Uint8Array
  /** The part that is signed. */
  readonly body: Uint8Array
  readonly keyInfo: DerItem
  readonly version: number
  readonly serial: bigint
  readonly issuer: Name
  readonly subject: Name
  /** Seconds since 1970. */
  readonly notBefore: number
  readonly notAfter: number
  readonly extensions: readonly Extension[]
  readonly signatureOid: string
  readonly signature: Uint8Array
}

/** RFC 5280, section 4.1; undefined when the bytes are no certificate. */
export function readCertificate(item: DerItem | undefined): Certificate | undefined {
  if (item?.tag !== DER_TAG.sequence || !isWellFormed(item)) return undefined
  const [body, algorithm, bits] = sequenceItems(item)
  const all = sequenceItems(body)
  const hasVersion = all[0]?.tag === 0xa0
  const version = hasVersion ? integerOf(sequenceItems(all[0])[0]) : 0n
  const [serial, , issuer, validity, subject, keyInfo, ...optional] = hasVersion
    ? all.slice(1)
    : all
  const [notBefore, notAfter] = sequenceItems(validity).map(timeOf)
  const number = integerOf(serial)
  const signature = bitStringOf(bits)
  const signatureOid = oidOf(sequenceItems(algorithm)[0])
  if (body === undefined || keyInfo === undefined || number === undefined) return undefined
  if (issuer === undefined || subject === undefined || signature === undefined) return undefined
  if (notBefore === undefined || notAfter === undefined || signatureOid === undefined)
    return undefined
  return {
    whole: item.encoded,
    body: body.encoded,
    keyInfo,
    version: Number(version ?? 0n) + 1,
    serial: number,
    issuer: readName(issuer),
    subject: readName(subject),
    notBefore,
    notAfter,
    extensions: readExtensions(sequenceItems(optional.find(({ tag }) => tag === 0xa3))[0]),
    signatureOid,
    signature,
  }
}

export interface CertificateRequest {
  readonly whole: Uint8Array
  readonly body: Uint8Array
  readonly keyInfo: DerItem
  readonly version: number
  readonly subject: Name
  readonly extensions: readonly Extension[]
  readonly signatureOid: string
  readonly signature: Uint8Array
}

const EXTENSION_REQUEST = '1.2.840.113549.1.9.14'

/** RFC 2986, section 4. */
export function readCertificateRequest(bytes: Uint8Array): CertificateRequest | undefined {
  const item = readSingleDer(bytes)
  if (item?.tag !== DER_TAG.sequence || !isWellFormed(item)) return undefined
  const [body, algorithm, bits] = sequenceItems(item)
  const [version, subject, keyInfo, attributes] = sequenceItems(body)
  const number = integerOf(version)
  const signature = bitStringOf(bits)
  const signatureOid = oidOf(sequenceItems(algorithm)[0])
  if (body === undefined || subject === undefined || keyInfo === undefined) return undefined
  if (number === undefined || signature === undefined || signatureOid === undefined)
    return undefined
  const wanted = sequenceItems(attributes).find(
    (one) => oidOf(sequenceItems(one)[0]) === EXTENSION_REQUEST,
  )
  return {
    whole: item.encoded,
    body: body.encoded,
    keyInfo,
    version: Number(number),
    subject: readName(subject),
    extensions: readExtensions(sequenceItems(sequenceItems(wanted)[1])[0]),
    signatureOid,
    signature,
  }
}

function readName(item: DerItem): Name {
  const parts = sequenceItems(item).flatMap((set) =>
    sequenceItems(set).flatMap((pair) => {
      const [type, value] = sequenceItems(pair)
      const oid = oidOf(type)
      return oid === undefined || value === undefined ? [] : [{ oid, text: stringOf(value) }]
    }),
  )
  return { whole: item.encoded, parts }
}

const BMP_STRING = 0x1e

function stringOf({ tag, content }: DerItem): string {
  if (tag !== BMP_STRING) return decodeUtf8Lossy(content)
  return Array.from({ length: Math.floor(content.length / 2) }, (_, at) =>
    String.fromCharCode((content[at * 2] ?? 0) * 256 + (content[at * 2 + 1] ?? 0)),
  )
    .join('')
    .toWellFormed()
}

function readExtensions(list: DerItem | undefined): readonly Extension[] {
  return sequenceItems(list).flatMap((item) => {
    const [type, ...rest] = sequenceItems(item)
    const oid = oidOf(type)
    const value = rest.at(-1)
    if (oid === undefined || value === undefined) return []
    const isCritical = rest[0]?.tag === DER_TAG.boolean && rest[0].content[0] === 0xff
    return [{ oid, isCritical, value: value.content }]
  })
}

/** RFC 5280, section 4.1.2.5: two digits for years up to 2049, four for others. */
function timeOf(item: DerItem): number | undefined {
  const text = decodeUtf8Lossy(item.content)
  const pattern =
    item.tag === DER_TAG.utcTime
      ? /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/
      : /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/
  const match = pattern.exec(text)
  if (match === null || (item.tag !== DER_TAG.utcTime && item.tag !== DER_TAG.generalTime))
    return undefined
  const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map(Number)
  const full = item.tag === DER_TAG.utcTime ? year + (year < 50 ? 2000 : 1900) : year
  const midnight = new Date(0).setUTCFullYear(full, month - 1, day) / 1000
  return midnight + hour * 3600 + minute * 60 + second
}
