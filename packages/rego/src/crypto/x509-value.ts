import { encodeBase64, decodeBase64Url } from '@reeve/kit/base64.ts'
import { fromBigInt } from '../value/number.ts'
import { type Entry, objectOf, type ObjectValue, type Value } from '../value/value.ts'
import { parseUrl } from '@reeve/go-template/url'
import {
  bitStringOf,
  sequenceItems,
  oidOf,
  type DerItem,
  integerOf,
  readSingleDer,
  DER_TAG,
} from '@reeve/kit/der.ts'
import type { Jwk } from '@reeve/kit/crypto-host.ts'
import { bytesToBigInt } from '@reeve/kit/bytes.ts'
import { formatAddress } from '@reeve/kit/ip-address.ts'
import { decodeUtf8Lossy } from '@reeve/kit/utf8.ts'
import { OID, readPublicKeyInfo } from './keys.ts'
import type { Certificate, CertificateRequest, Extension, Name } from './x509.ts'

/** Field names and numbers of kinds are those policies for the first implementation rely on. */
export function certificateValue(certificate: Certificate): ObjectValue {
  const { extensions } = certificate
  const constraints = basicConstraints(extensions)
  const usages = extendedKeyUsages(extensions)
  const pathLength = constraints?.pathLengthMax
  return objectOf([
    ['Raw', encodeBase64(certificate.whole)],
    ['RawTBSCertificate', encodeBase64(certificate.body)],
    ['RawIssuer', encodeBase64(certificate.issuer.whole)],
    ...commonEntries(certificate),
    ['SerialNumber', numberOf(certificate.serial)],
    ['Issuer', nameValue(certificate.issuer)],
    ['NotBefore', timeText(certificate.notBefore)],
    ['NotAfter', timeText(certificate.notAfter)],
    ['KeyUsage', keyUsage(extensions) ?? 0],
    ['UnhandledCriticalExtensions', null],
    ['ExtKeyUsage', listOrNull(usages.flatMap((oid) => EXTENDED_USAGES.get(oid) ?? []))],
    [
      'UnknownExtKeyUsage',
      listOrNull(usages.filter((oid) => !EXTENDED_USAGES.has(oid)).map(oidValue)),
    ],
    ['BasicConstraintsValid', constraints !== undefined],
    ['IsCA', constraints?.isCa ?? false],
    ['MaxPathLen', constraints === undefined ? 0 : (pathLength ?? -1)],
    ['MaxPathLenZero', pathLength === 0],
    ['SubjectKeyId', bytesOrNull(subjectKeyId(extensions))],
    ['AuthorityKeyId', bytesOrNull(authorityKeyId(extensions))],
    ['OCSPServer', listOrNull(authorityAccess(extensions, '1.3.6.1.5.5.7.48.1'))],
    ['IssuingCertificateURL', listOrNull(authorityAccess(extensions, '1.3.6.1.5.5.7.48.2'))],
    ['CRLDistributionPoints', listOrNull(revocationLists(extensions))],
    ['PolicyIdentifiers', listOrNull(policyIdentifiers(extensions).map(oidValue))],
    ['URIStrings', listOrNull(alternativeNames(extensions).uris)],
  ])
}

export function requestValue(request: CertificateRequest): ObjectValue {
  return objectOf([
    ['Raw', encodeBase64(request.whole)],
    ['RawTBSCertificateRequest', encodeBase64(request.body)],
    ...commonEntries(request),
    ['Attributes', null],
  ])
}

function commonEntries(one: Certificate | CertificateRequest): readonly Entry[] {
  const { subject, extensions, keyInfo } = one
  const names = alternativeNames(extensions)
  return [
    ['RawSubjectPublicKeyInfo', encodeBase64(keyInfo.encoded)],
    ['RawSubject', encodeBase64(subject.whole)],
    ['Signature', encodeBase64(one.signature)],
    ['SignatureAlgorithm', SIGNATURE_NUMBERS.get(one.signatureOid) ?? 0],
    [
      'PublicKeyAlgorithm',
      KEY_NUMBERS.get(oidOf(sequenceItems(sequenceItems(keyInfo)[0])[0]) ?? '') ?? 0,
    ],
    ['PublicKey', publicKeyValue(keyInfo)],
    ['Version', one.version],
    ['Subject', nameValue(subject)],
    ['Extensions', listOrNull(extensions.map(extensionValue))],
    ['ExtraExtensions', null],
    ['DNSNames', listOrNull(names.dns)],
    ['EmailAddresses', listOrNull(names.emails)],
    ['IPAddresses', listOrNull(names.addresses)],
    ['URIs', listOrNull(names.uris.map(uriValue))],
  ]
}

const SIGNATURE_NUMBERS: ReadonlyMap<string, number> = new Map([
  ['1.2.840.113549.1.1.2', 1],
  ['1.2.840.113549.1.1.4', 2],
  ['1.2.840.113549.1.1.5', 3],
  ['1.2.840.113549.1.1.11', 4],
  ['1.2.840.113549.1.1.12', 5],
  ['1.2.840.113549.1.1.13', 6],
  ['1.2.840.10040.4.3', 7],
  ['2.16.840.1.101.3.4.3.2', 8],
  ['1.2.840.10045.4.1', 9],
  ['1.2.840.10045.4.3.2', 10],
  ['1.2.840.10045.4.3.3', 11],
  ['1.2.840.10045.4.3.4', 12],
  ['1.2.840.113549.1.1.10', 13],
  ['1.3.101.112', 16],
])

const KEY_NUMBERS: ReadonlyMap<string, number> = new Map([
  [OID.rsa, 1],
  ['1.2.840.10040.4.1', 2],
  [OID.ec, 3],
  [OID.ed25519, 4],
])

/** RFC 5280, section 4.2.1.12, in the order of their numbers. */
const EXTENDED_USAGES: ReadonlyMap<string, number> = new Map([
  ['2.5.29.37.0', 0],
  ...Array.from({ length: 9 }, (_, at): [string, number] => [`1.3.6.1.5.5.7.3.${at + 1}`, at + 1]),
])

const NAME_FIELDS: ReadonlyMap<string, string> = new Map([
  ['2.5.4.6', 'Country'],
  ['2.5.4.10', 'Organization'],
  ['2.5.4.11', 'OrganizationalUnit'],
  ['2.5.4.7', 'Locality'],
  ['2.5.4.8', 'Province'],
  ['2.5.4.9', 'StreetAddress'],
  ['2.5.4.17', 'PostalCode'],
])

function nameValue({ parts }: Name): ObjectValue {
  const last = (oid: string) => parts.findLast((part) => part.oid === oid)?.text ?? ''
  return objectOf([
    ...[...NAME_FIELDS].map(([oid, name]): Entry => [
      name,
      listOrNull(parts.filter((part) => part.oid === oid).map(({ text }) => text)),
    ]),
    ['SerialNumber', last('2.5.4.5')],
    ['CommonName', last('2.5.4.3')],
    [
      'Names',
      listOrNull(
        parts.map(({ oid, text }) =>
          objectOf([
            ['Type', oidValue(oid)],
            ['Value', text],
          ]),
        ),
      ),
    ],
    ['ExtraNames', null],
  ])
}

function extensionValue({ oid, isCritical, value }: Extension): ObjectValue {
  return objectOf([
    ['Id', oidValue(oid)],
    ['Critical', isCritical],
    ['Value', encodeBase64(value)],
  ])
}

function oidValue(oid: string): readonly Value[] {
  return oid.split('.').map((number) => numberOf(BigInt(number)))
}

function uriValue(text: string): Value {
  const url = parseUrl(text)
  if (!url.ok) return text
  const { scheme, hostname, port, path, raw_query: query, fragment } = url.value
  return objectOf([
    ['Scheme', scheme],
    ['Opaque', ''],
    ['User', null],
    ['Host', port === '' ? hostname : `${hostname}:${port}`],
    ['Path', path],
    ['RawPath', ''],
    ['OmitHost', false],
    ['ForceQuery', false],
    ['RawQuery', query],
    ['Fragment', fragment],
    ['RawFragment', ''],
  ])
}

function publicKeyValue(keyInfo: DerItem): Value {
  const key = readPublicKeyInfo(keyInfo)
  switch (key?.type) {
    case undefined:
      return bytesOrNull(bitStringOf(sequenceItems(keyInfo)[1]))
    case 'rsa':
      return objectOf([
        ['N', numberOf(key.modulus)],
        ['E', numberOf(key.exponent)],
      ])
    case 'ec':
      return objectOf([
        ['Curve', objectOf([])],
        ['X', numberOf(key.x)],
        ['Y', numberOf(key.y)],
      ])
    case 'ed25519':
      return encodeBase64(key.bytes)
  }
}

/** Values have the fields that policies for the first implementation rely on. */
export function privateKeyValue(key: Jwk): Value {
  const number = (name: keyof Jwk) => numberOf(bytesToBigInt(bytesIn(key, name)))
  switch (key.kty) {
    case 'RSA': {
      const precomputed = objectOf([
        ['Dp', number('dp')],
        ['Dq', number('dq')],
        ['Qinv', number('qi')],
        ['CRTValues', []],
      ])
      return objectOf([
        ['N', number('n')],
        ['E', number('e')],
        ['D', number('d')],
        ['Primes', [number('p'), number('q')]],
        ['Precomputed', precomputed],
      ])
    }
    case 'EC':
      return objectOf([
        ['Curve', objectOf([])],
        ['X', number('x')],
        ['Y', number('y')],
        ['D', number('d')],
      ])
    default:
      return encodeBase64(Uint8Array.of(...bytesIn(key, 'd'), ...bytesIn(key, 'x')))
  }
}

/** The host wrote the key, so its numbers are base64url. */
function bytesIn(key: Jwk, name: keyof Jwk): Uint8Array {
  return decodeBase64Url(key[name] ?? '') ?? new Uint8Array(0)
}

/** Keys are far shorter than numbers may be. */
function numberOf(value: bigint): Value {
  return fromBigInt(value) ?? 0
}

function listOrNull(items: readonly Value[]): Value {
  return items.length === 0 ? null : items
}

function bytesOrNull(bytes: Uint8Array | undefined): Value {
  return bytes === undefined ? null : encodeBase64(bytes)
}

function timeText(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('.000Z', 'Z')
}

/** RFC 5280, section 4.2.1; readers give undefined when the extension is not there. */
function find(extensions: readonly Extension[], oid: string): DerItem | undefined {
  const extension = extensions.find((one) => one.oid === oid)
  return extension === undefined ? undefined : readSingleDer(extension.value)
}

interface BasicConstraints {
  readonly isCa: boolean
  readonly pathLengthMax: number | undefined
}

export function basicConstraints(extensions: readonly Extension[]): BasicConstraints | undefined {
  const item = find(extensions, '2.5.29.19')
  if (item === undefined) return undefined
  const items = sequenceItems(item)
  const isCa = items[0]?.tag === DER_TAG.boolean && items[0].content[0] === 0xff
  const length = integerOf(items.find(({ tag }) => tag === DER_TAG.integer))
  return { isCa, pathLengthMax: length === undefined ? undefined : Number(length) }
}

/** Bit 0 is for signatures, bit 5 for signing certificates. */
export function keyUsage(extensions: readonly Extension[]): number | undefined {
  const bytes = bitStringOf(find(extensions, '2.5.29.15'))
  if (bytes === undefined) return undefined
  let usage = 0
  for (let bit = 0; bit < 9; bit++) {
    const isSet = ((bytes[bit >> 3] ?? 0) & (0x80 >> (bit & 7))) !== 0
    if (isSet) usage |= 1 << bit
  }
  return usage
}

function extendedKeyUsages(extensions: readonly Extension[]): readonly string[] {
  return sequenceItems(find(extensions, '2.5.29.37')).flatMap((item) => oidOf(item) ?? [])
}

function subjectKeyId(extensions: readonly Extension[]): Uint8Array | undefined {
  const item = find(extensions, '2.5.29.14')
  return item?.tag === DER_TAG.octets ? item.content : undefined
}

function authorityKeyId(extensions: readonly Extension[]): Uint8Array | undefined {
  return sequenceItems(find(extensions, '2.5.29.35')).find(({ tag }) => tag === 0x80)?.content
}

interface AlternativeNames {
  readonly dns: readonly string[]
  readonly emails: readonly string[]
  readonly addresses: readonly string[]
  readonly uris: readonly string[]
}

const NAME_TAGS = { emails: 0x81, dns: 0x82, uris: 0x86, addresses: 0x87 } as const

function alternativeNames(extensions: readonly Extension[]): AlternativeNames {
  const items = sequenceItems(find(extensions, '2.5.29.17'))
  const texts = (wanted: number) =>
    items.filter(({ tag }) => tag === wanted).map(({ content }) => decodeUtf8Lossy(content))
  return {
    dns: texts(NAME_TAGS.dns),
    emails: texts(NAME_TAGS.emails),
    uris: texts(NAME_TAGS.uris),
    addresses: items
      .filter(({ tag }) => tag === NAME_TAGS.addresses)
      .flatMap(({ content }) => addressText(content)),
  }
}

function addressText(bytes: Uint8Array): readonly string[] {
  if (bytes.length === 4) return [formatAddress(bytesToBigInt(bytes), 32)]
  return bytes.length === 16 ? [formatAddress(bytesToBigInt(bytes), 128)] : []
}

/**
 * Returns the addresses of the authority information access extension by method: OCSP or the
 * certificate of the issuer.
 */
function authorityAccess(extensions: readonly Extension[], method: string): readonly string[] {
  return sequenceItems(find(extensions, '1.3.6.1.5.5.7.1.1')).flatMap((item) => {
    const [type, location] = sequenceItems(item)
    return oidOf(type) === method && location?.tag === NAME_TAGS.uris
      ? [decodeUtf8Lossy(location.content)]
      : []
  })
}

function revocationLists(extensions: readonly Extension[]): readonly string[] {
  return sequenceItems(find(extensions, '2.5.29.31')).flatMap((point) => {
    const full = sequenceItems(sequenceItems(point).find(({ tag }) => tag === 0xa0)).find(
      ({ tag }) => tag === 0xa0,
    )
    return sequenceItems(full)
      .filter(({ tag }) => tag === NAME_TAGS.uris)
      .map(({ content }) => decodeUtf8Lossy(content))
  })
}

function policyIdentifiers(extensions: readonly Extension[]): readonly string[] {
  return sequenceItems(find(extensions, '2.5.29.32')).flatMap(
    (item) => oidOf(sequenceItems(item)[0]) ?? [],
  )
}
