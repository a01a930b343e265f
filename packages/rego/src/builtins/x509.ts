import { decodeBase64, encodeBase64 } from '@reeve/kit/base64.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { findBadBase64 } from '../crypto/token.ts'
import { decodeUtf8Lossy } from '@reeve/kit/utf8.ts'
import type { CryptoHost, HostKey, Jwk } from '@reeve/kit/crypto-host.ts'
import { readDer } from '@reeve/kit/der.ts'
import { jwkFromPrivateKey, privateKeyOf } from '../crypto/keys.ts'
import { readPem } from '@reeve/kit/pem.ts'
import { verifyChain } from '../crypto/x509-chain.ts'
import { certificateValue, privateKeyValue, requestValue } from '../crypto/x509-value.ts'
import { readCertificate, readCertificateRequest, type Certificate } from '../crypto/x509.ts'
import { toBigInt, type NumberValue } from '../value/number.ts'
import { isNumber, objectOf, type ObjectValue, type Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { floorDivide } from '@reeve/kit/calendar.ts'
import { CERTIFICATES_MAX } from './limits.ts'
import { chargeForString } from './operands.ts'

export const X509_BUILTINS: readonly Builtin[] = [
  define(
    { name: 'crypto.x509.parse_certificates', operands: ['string'], result: 'array' },
    (context, text) => {
      const certificates = readCertificates(context, text)
      return certificates.ok
        ? certificates.value.map(certificateValue)
        : context.fail(certificates.error)
    },
  ),
  define(
    { name: 'crypto.x509.parse_and_verify_certificates', operands: ['string'], result: 'array' },
    (context, text) => verify(context, text, { nowSeconds: secondsOf(context.nowNs) }),
  ),
  define(
    {
      name: 'crypto.x509.parse_and_verify_certificates_with_options',
      operands: ['string', 'object'],
      result: 'array',
    },
    (context, text, options) => {
      const wanted = verifyOptions(context, options)
      return wanted.ok ? verify(context, text, wanted.value) : context.fail(wanted.error)
    },
  ),
  define(
    { name: 'crypto.x509.parse_certificate_request', operands: ['string'], result: 'object' },
    (context, text) => {
      const bytes = requestBytes(context, text)
      if (!bytes.ok) return context.fail(bytes.error)
      const request = readCertificateRequest(bytes.value)
      return request === undefined
        ? context.fail('asn1: structure error: malformed certificate request')
        : requestValue(request)
    },
  ),
  define(
    { name: 'crypto.x509.parse_keypair', operands: ['string', 'string'], result: 'object' },
    parseKeyPair,
  ),
  define(
    { name: 'crypto.x509.parse_rsa_private_key', operands: ['string'], result: 'object' },
    (context, text) => {
      if (text === '') return context.fail('input PEM data was empty')
      const source = pemText(context, text)
      if (!source.ok) return context.fail(source.error)
      const [key] = privateKeysIn(context.crypto, source.value)
      return key === undefined
        ? context.fail('failed to parse a PEM private key')
        : jwkFromPrivateKey(key)
    },
  ),
  define(
    { name: 'crypto.parse_private_keys', operands: ['string'], result: ['array', 'null'] },
    (context, text) => {
      if (text === '') return null
      const source = pemText(context, text)
      // Text that is neither PEM nor base64 has no keys.
      return source.ok ? privateKeysIn(context.crypto, source.value).map(privateKeyValue) : []
    },
  ),
]

const BEGIN = '-----BEGIN'

/** PEM text, also in base64. */
function pemText(context: CallContext, text: string): Result<string, string> {
  chargeForString(context, text.length * 4)
  if (text.startsWith(BEGIN)) return ok(text)
  const bytes = decodeBase64(text)
  return bytes === undefined ? err(findBadBase64(text)) : ok(decodeUtf8Lossy(bytes))
}

/** PEM text, or base64 of PEM text, or base64 of the certificates one behind the other. */
function readCertificates(
  context: CallContext,
  text: string,
): Result<readonly Certificate[], string> {
  chargeForString(context, text.length * 4)
  if (text.startsWith(BEGIN)) return certificatesInPem(text)
  const bytes = decodeBase64(text)
  if (bytes === undefined) return err(findBadBase64(text))
  const inner = decodeUtf8Lossy(bytes.subarray(0, BEGIN.length))
  if (inner === BEGIN) return certificatesInPem(decodeUtf8Lossy(bytes))
  const items = readDer(bytes)
  return items === undefined ? MALFORMED : allCertificates(items.map(readCertificate))
}

const MALFORMED = err('x509: malformed certificate')

function certificatesInPem(text: string): Result<readonly Certificate[], string> {
  const blocks = readPem(text)
  const strange = blocks.find(({ label }) => label !== 'CERTIFICATE')
  if (strange !== undefined)
    return err(`PEM block type is '${strange.label}', expected CERTIFICATE`)
  return allCertificates(
    blocks.slice(0, CERTIFICATES_MAX + 1).flatMap(({ bytes }) => {
      const items = readDer(bytes)
      return items === undefined ? [undefined] : items.map(readCertificate)
    }),
  )
}

function allCertificates(
  found: readonly (Certificate | undefined)[],
): Result<readonly Certificate[], string> {
  if (found.length > CERTIFICATES_MAX)
    return err(`there are more than ${CERTIFICATES_MAX} certificates`)
  const certificates = found.filter((one) => one !== undefined)
  return certificates.length === found.length && found.length > 0 ? ok(certificates) : MALFORMED
}

interface VerifyOptions {
  readonly nowSeconds: number
  readonly dnsName?: string
}

function secondsOf(ns: bigint): number {
  return Number(floorDivide(ns, 1_000_000_000n))
}

/** Whether they are a chain, and if so that chain from its leaf. */
function verify(context: CallContext, text: string, options: VerifyOptions): Value {
  const certificates = readCertificates(context, text)
  if (!certificates.ok) return [false, []]
  const { nowSeconds, dnsName } = options
  const chain = verifyChain(context, { certificates: certificates.value, nowSeconds })
  const leaf = chain?.[0]
  if (chain === undefined || leaf === undefined) return [false, []]
  const values = chain.map(certificateValue)
  if (dnsName !== undefined && !isNamed(values[0]?.get('DNSNames'), dnsName)) return [false, []]
  return [true, values]
}

/** RFC 6125, section 6.4.3: a star stands for one whole label, the first. */
function isNamed(names: Value | undefined, wanted: string): boolean {
  const name = wanted.toLowerCase()
  const parent = name.slice(name.indexOf('.'))
  return (
    Array.isArray(names) &&
    names.some((one) => {
      const pattern = String(one).toLowerCase()
      return pattern === name || (pattern.startsWith('*.') && pattern.slice(1) === parent)
    })
  )
}

function verifyOptions(context: CallContext, options: ObjectValue): Result<VerifyOptions, string> {
  let wanted: VerifyOptions = { nowSeconds: secondsOf(context.nowNs) }
  for (const [name, value] of options.entries()) {
    if (name === 'DNSName') {
      if (typeof value !== 'string') return err("'DNSName' should be a string")
      wanted = { ...wanted, dnsName: value }
    } else if (name === 'CurrentTime') {
      const ns = wholeNumber(value)
      if (ns === undefined) return err("'CurrentTime' should be a valid int64 number")
      wanted = { ...wanted, nowSeconds: secondsOf(ns) }
    } else if (name !== 'KeyUsages' && name !== 'MaxConstraintComparisons')
      return err('invalid key option')
  }
  return ok(wanted)
}

function wholeNumber(value: Value): bigint | undefined {
  const number: NumberValue | undefined = isNumber(value) ? value : undefined
  return number === undefined ? undefined : toBigInt(number)
}

function requestBytes(context: CallContext, text: string): Result<Uint8Array, string> {
  const wrong = err('invalid PEM-encoded certificate signing request')
  chargeForString(context, text.length * 4)
  const bytes = text.startsWith(BEGIN) ? undefined : decodeBase64(text)
  if (!text.startsWith(BEGIN) && bytes === undefined) return err(findBadBase64(text))
  const pem = bytes === undefined ? text : decodeUtf8Lossy(bytes.subarray(0, BEGIN.length))
  if (bytes !== undefined && pem !== BEGIN) return ok(bytes)
  const [block] = readPem(bytes === undefined ? text : decodeUtf8Lossy(bytes))
  return block?.label === 'CERTIFICATE REQUEST' || block?.label === 'NEW CERTIFICATE REQUEST'
    ? ok(block.bytes)
    : wrong
}

function privateKeysIn(crypto: CryptoHost, text: string): readonly Jwk[] {
  return readPem(text)
    .slice(0, CERTIFICATES_MAX)
    .flatMap((block) => privateKeyOf(crypto, block) ?? [])
}

function parseKeyPair(
  context: CallContext,
  certificateText: string,
  keyText: string,
): Value | undefined {
  const source = pemText(context, certificateText)
  if (!source.ok) return context.fail(source.error)
  const keySource = pemText(context, keyText)
  if (!keySource.ok) return context.fail(keySource.error)
  const certificates = certificatesInPem(source.value)
  if (!certificates.ok) return context.fail(certificates.error)
  const [key] = privateKeysIn(context.crypto, keySource.value)
  const [leaf] = certificates.value
  if (key === undefined) return context.fail('tls: failed to find any PEM data in key input')
  if (leaf === undefined || !isKeyOf(context.crypto, leaf, key))
    return context.fail('tls: private key does not match public key')
  return objectOf([
    ['Certificate', certificates.value.map(({ whole }) => encodeBase64(whole))],
    ['PrivateKey', privateKeyValue(key)],
    ['Leaf', certificateValue(leaf)],
    ['OCSPStaple', null],
    ['SignedCertificateTimestamps', null],
    ['SupportedSignatureAlgorithms', null],
  ])
}

function isKeyOf(crypto: CryptoHost, certificate: Certificate, key: Jwk): boolean {
  const info: HostKey = { form: 'spki', der: certificate.keyInfo.encoded }
  const shown = crypto.publicJwk(info)
  return shown?.kty === key.kty && PUBLIC_NUMBERS.every((name) => shown?.[name] === key[name])
}

const PUBLIC_NUMBERS = ['crv', 'n', 'e', 'x', 'y'] as const
