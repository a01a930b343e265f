import {
  createHash,
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
  type KeyObject,
} from 'node:crypto'
import { oidOf, readSingleDer, sequenceItems, type DerItem } from '@reeve/kit/der.ts'
import { parseAddress } from '@reeve/kit/ip-address.ts'
import { systemErrorReason } from '../errors.ts'

/** Limit for a file with a certificate or a key. */
export const CERTIFICATE_BYTES_MAX = 1024 * 1024

/** A certificate and its private key, as PEM. */
export interface IssuedCertificate {
  readonly certificate: string
  readonly key: string
}

export interface Validity {
  readonly fromMs: number
  readonly toMs: number
}

export type KeyUsage = 'serverAuth' | 'clientAuth'

export interface CertificateRequest {
  /** Common name, for display only. */
  readonly name: string
  readonly dnsNames: readonly string[]
  readonly addresses: readonly string[]
  readonly usages: readonly KeyUsage[]
  readonly validity: Validity
}

const ENCRYPTED_KEY = /^(?:-----BEGIN ENCRYPTED |Proc-Type: 4,ENCRYPTED)/m

/** A certificate authority loaded from its PEM files. */
export class Authority {
  readonly certificate: X509Certificate
  readonly #key: KeyObject

  /** Throws an error if the files do not form an authority. */
  constructor(certificate: string, key: string) {
    this.certificate = parsePem('certificate', () => new X509Certificate(certificate))
    if (ENCRYPTED_KEY.test(key))
      throw new Error('the private key has a passphrase: decrypt it first, as with "openssl pkey"')
    this.#key = parsePem('private key', () => createPrivateKey(key))
    if (!this.certificate.ca) throw new Error('the certificate is not that of an authority')
    if (!this.certificate.checkPrivateKey(this.#key)) {
      throw new Error('the private key does not match the certificate')
    }
  }

  issue(request: CertificateRequest): IssuedCertificate {
    const { publicKey, privateKey } = generateKey()
    const extensions = [
      extension(OID.basicConstraints, sequence(), true),
      extension(OID.keyUsage, bits(DIGITAL_SIGNATURE), true),
      extension(OID.extendedKeyUsage, sequence(...request.usages.map((one) => oid(OID[one])))),
      ...alternativeNames(request),
      extension(OID.subjectKeyIdentifier, der(0x04, keyIdentifier(publicKey))),
      ...authorityKey(this.certificate),
    ]
    const issuer = subjectOf(this.certificate)
    const { name, validity } = request
    const fields = { issuer, subject: commonName(name), validity, publicKey, extensions }
    return { certificate: signCertificate(fields, this.#key), key: pemOf(privateKey) }
  }
}

/** A new authority that signs its own certificate. */
export function createAuthority(name: string, validity: Validity): IssuedCertificate {
  const { publicKey, privateKey } = generateKey()
  const isAuthority = der(0x01, Uint8Array.of(0xff))
  const subject = commonName(name)
  const extensions = [
    extension(OID.basicConstraints, sequence(isAuthority), true),
    extension(OID.keyUsage, bits(CERTIFICATE_AND_CRL_SIGN), true),
    extension(OID.subjectKeyIdentifier, der(0x04, keyIdentifier(publicKey))),
  ]
  const fields = { issuer: subject, subject, validity, publicKey, extensions }
  return { certificate: signCertificate(fields, privateKey), key: pemOf(privateKey) }
}

function parsePem<T>(what: string, read: () => T): T {
  try {
    return read()
  } catch (cause) {
    throw new Error(`the ${what} cannot be read: ${systemErrorReason(cause)}`, { cause })
  }
}

function generateKey(): { readonly publicKey: KeyObject; readonly privateKey: KeyObject } {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

interface CertificateFields {
  readonly issuer: Uint8Array
  readonly subject: Uint8Array
  readonly validity: Validity
  readonly publicKey: KeyObject
  readonly extensions: readonly Uint8Array[]
}

const VERSION_3 = Uint8Array.of(2)
const SERIAL_BYTES = 16

/** RFC 5280, section 4.1. */
function signCertificate(fields: CertificateFields, key: KeyObject): string {
  const { issuer, subject, validity, publicKey, extensions } = fields
  const { algorithm, digest } = signatureOf(key)
  const toBeSigned = sequence(
    der(0xa0, der(0x02, VERSION_3)),
    der(0x02, newSerial()),
    algorithm,
    issuer,
    sequence(encodeTime(validity.fromMs), encodeTime(validity.toMs)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, sequence(...extensions)),
  )
  const signature = sign(digest, toBeSigned, key)
  const bytes = sequence(toBeSigned, algorithm, der(0x03, Uint8Array.of(0), signature))
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}

/** Positive, and without leading zeros. */
function newSerial(): Uint8Array {
  const serial = randomBytes(SERIAL_BYTES)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40
  return serial
}

interface Signature {
  readonly algorithm: Uint8Array
  /** Null where the key determines it. */
  readonly digest: string | null
}

/** External authorities may have RSA or Ed25519 keys. */
function signatureOf(key: KeyObject): Signature {
  switch (key.asymmetricKeyType) {
    case 'ec':
      return { algorithm: sequence(oid(OID.ecdsaWithSha256)), digest: 'sha256' }
    case 'rsa':
      return { algorithm: sequence(oid(OID.rsaWithSha256), der(0x05)), digest: 'sha256' }
    case 'ed25519':
      return { algorithm: sequence(oid(OID.ed25519)), digest: null }
    default:
      throw new Error(`keys of the type ${key.asymmetricKeyType} cannot sign certificates here`)
  }
}

export const OID = {
  commonName: '2.5.4.3',
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAlternativeName: '2.5.29.17',
  basicConstraints: '2.5.29.19',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
  serverAuth: '1.3.6.1.5.5.7.3.1',
  clientAuth: '1.3.6.1.5.5.7.3.2',
  ecdsaWithSha256: '1.2.840.10045.4.3.2',
  rsaWithSha256: '1.2.840.113549.1.1.11',
  ed25519: '1.3.101.112',
} as const

/** Bits of the key usage (RFC 5280, section 4.2.1.3), with the number of unused bits before. */
const DIGITAL_SIGNATURE = Uint8Array.of(7, 0x80)
const CERTIFICATE_AND_CRL_SIGN = Uint8Array.of(1, 0x06)

function bits(content: Uint8Array): Uint8Array {
  return der(0x03, content)
}

function extension(id: string, value: Uint8Array, isCritical = false): Uint8Array {
  const critical = isCritical ? [der(0x01, Uint8Array.of(0xff))] : []
  return sequence(oid(id), ...critical, der(0x04, value))
}

function alternativeNames({ dnsNames, addresses }: CertificateRequest): readonly Uint8Array[] {
  const names = [
    ...dnsNames.map((name) => der(0x82, Buffer.from(name, 'latin1'))),
    ...addresses.map((address) => der(0x87, addressBytes(address))),
  ]
  return names.length === 0 ? [] : [extension(OID.subjectAlternativeName, sequence(...names))]
}

function addressBytes(text: string): Uint8Array {
  const found = parseAddress(text)
  if (found === undefined) throw new Error(`${JSON.stringify(text)} is no IP address`)
  return Buffer.from(found.address.toString(16).padStart(found.bits / 4, '0'), 'hex')
}

function commonName(name: string): Uint8Array {
  const text = der(0x0c, Buffer.from(name, 'utf8'))
  return sequence(der(0x31, sequence(oid(OID.commonName), text)))
}

function fieldsOf({ raw }: X509Certificate): readonly DerItem[] {
  const [toBeSigned] = sequenceItems(readSingleDer(raw))
  return sequenceItems(toBeSigned)
}

/**
 * Builds the authority key identifier from the subject key identifier of the authority; verifiers
 * compare both.
 */
function authorityKey(certificate: X509Certificate): readonly Uint8Array[] {
  const list = fieldsOf(certificate).find(({ tag }) => tag === 0xa3)
  const found = sequenceItems(sequenceItems(list)[0])
    .map((item) => sequenceItems(item))
    .find(([id]) => oidOf(id) === OID.subjectKeyIdentifier)
  const keyId = readSingleDer(found?.at(-1)?.content ?? new Uint8Array())?.content
  if (keyId === undefined) return []
  return [extension(OID.authorityKeyIdentifier, sequence(der(0x80, keyId)))]
}

/** Returns the encoded subject of the authority, because issuers are compared byte by byte. */
function subjectOf(certificate: X509Certificate): Uint8Array {
  const fields = fieldsOf(certificate)
  const hasVersion = fields[0]?.tag === 0xa0
  const subject = fields[hasVersion ? 5 : 4]
  if (subject === undefined) throw new Error('the certificate of the authority has no subject')
  return subject.encoded
}

/** The usual identifier of a key: the SHA-1 digest of its bits (RFC 5280, section 4.2.1.2). */
function keyIdentifier(key: KeyObject): Uint8Array {
  const info = readSingleDer(key.export({ type: 'spki', format: 'der' }))
  const content = sequenceItems(info)[1]?.content.subarray(1) ?? new Uint8Array()
  return createHash('sha1').update(content).digest()
}

const YEAR_OF_GENERALIZED_TIME = 2_050

function encodeTime(ms: number): Uint8Array {
  const date = new Date(ms)
  const text = `${date.toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}Z`
  const isGeneralized = date.getUTCFullYear() >= YEAR_OF_GENERALIZED_TIME
  return isGeneralized ? der(0x18, Buffer.from(text)) : der(0x17, Buffer.from(text.slice(2)))
}

function oid(text: string): Uint8Array {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number)
  return der(0x06, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)))
}

function base128(number: number): readonly number[] {
  const low = number & 0x7f
  if (number < 0x80) return [low]
  return [...base128(Math.floor(number / 0x80)).map((byte) => byte | 0x80), low]
}

function sequence(...items: readonly Uint8Array[]): Uint8Array {
  return der(0x30, ...items)
}

/** One element in the Distinguished Encoding Rules. */
function der(tag: number, ...contents: readonly Uint8Array[]): Uint8Array {
  const content = Buffer.concat(contents)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Uint8Array.of(tag, length), content])
  const digits = length.toString(16)
  const size = Buffer.from(digits.padStart(digits.length + (digits.length % 2), '0'), 'hex')
  return Buffer.concat([Uint8Array.of(tag, 0x80 | size.length), size, content])
}
