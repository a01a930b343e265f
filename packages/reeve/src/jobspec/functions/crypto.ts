import { md5, sha1 } from '@noble/hashes/legacy.js'
import { sha256, sha512 } from '@noble/hashes/sha2.js'
import { encodeBase64, hashSync } from 'bcryptjs'
import { decodeBase64, decodeBase64Url, encodeBase64Url } from '@reeve/kit/base64.ts'
import type { CryptoHost, Jwk, KeyEncoding } from '@reeve/kit/crypto-host.ts'
import { bigIntToBytes, bytesToBigInt, encodeHex } from '@reeve/kit/bytes.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { decodeUtf8, encodeUtf8 } from '@reeve/kit/utf8.ts'
import type { FunctionDefinition, StepBudget } from '@reeve/hcl'
import type { Random } from '@reeve/kit/clock.ts'
import { findPem } from '@reeve/kit/pem.ts'
import { text, integer } from './argument.ts'
import {
  chargeSteps,
  define,
  defineVariadic,
  fail,
  failArgument,
  type FunctionOptions,
  type FunctionResult,
} from './define.ts'
import {
  BCRYPT_COST_DEFAULT,
  BCRYPT_COST_MAX,
  BCRYPT_COST_MIN,
  BCRYPT_PASSWORD_BYTES_MAX,
  STEPS_PER_HASHED_BYTE,
  HASHED_BYTES_MIN,
  STEPS_PER_BCRYPT_ROUND,
  STEPS_PER_RSA,
  RSA_BITS_MAX,
} from './limits.ts'

export function cryptoFunctions({
  random,
  crypto,
}: FunctionOptions): Readonly<Record<string, FunctionDefinition>> {
  return {
    bcrypt: defineVariadic(
      {
        parameters: [text('str')],
        rest: integer('cost', { min: BCRYPT_COST_MIN, max: BCRYPT_COST_MAX }),
        countMax: 1,
      },
      ([str], [cost = BCRYPT_COST_DEFAULT], meter) => {
        if (encodeUtf8(str).length > BCRYPT_PASSWORD_BYTES_MAX)
          return failArgument(0, `str must be at most ${BCRYPT_PASSWORD_BYTES_MAX} bytes long`)
        const paid = chargeSteps(meter, 2 ** cost * STEPS_PER_BCRYPT_ROUND)
        if (!paid.ok) return paid
        return ok(bcrypt(str, { cost, salt: randomBytes(random, SALT_BYTES) }))
      },
    ),
    md5: hashFunction(md5),
    rsadecrypt: define(
      [text('ciphertext'), text('privatekey')],
      ([ciphertext, privateKey], meter) => decrypt(crypto, { ciphertext, privateKey }, meter),
    ),
    sha1: hashFunction(sha1),
    sha256: hashFunction(sha256),
    sha512: hashFunction(sha512),
  }
}

/** A function that returns the hexadecimal digest of a string's UTF-8 bytes. */
function hashFunction(hash: (message: Uint8Array) => Uint8Array): FunctionDefinition {
  return define([text('str')], ([str], meter) => {
    const bytes = encodeUtf8(str)
    const paid = chargeSteps(meter, (bytes.length + HASHED_BYTES_MIN) * STEPS_PER_HASHED_BYTE)
    return paid.ok ? ok(encodeHex(hash(bytes))) : paid
  })
}

function decrypt(
  crypto: CryptoHost | undefined,
  { ciphertext, privateKey }: { readonly ciphertext: string; readonly privateKey: string },
  meter: StepBudget,
): FunctionResult {
  if (crypto === undefined) return fail('rsadecrypt is not available here')
  const cipher = decodeBase64(ciphertext)
  if (cipher === undefined) return failArgument(0, 'ciphertext must be base64')
  const key = parsePrivateKey(crypto, privateKey)
  if (!key.ok) return failArgument(1, `privatekey cannot be used: ${key.error}`)
  const paid = chargeSteps(meter, STEPS_PER_RSA)
  if (!paid.ok) return paid
  const message = decryptRsa(crypto, key.value, cipher)
  if (!message.ok) return fail(message.error)
  const decrypted = decodeUtf8(message.value)
  return decrypted === undefined ? fail('the decrypted bytes are not UTF-8 text') : ok(decrypted)
}

const SALT_BYTES = 16

interface BcryptOptions {
  /** Binary logarithm of the number of rounds. */
  readonly cost: number
  readonly salt: Uint8Array
}

/**
 * Returns `$2a$10$…`. The library would silently truncate a password at 72 bytes; callers reject
 * longer ones.
 */
export function bcrypt(password: string, { cost, salt }: BcryptOptions): string {
  const costText = String(cost).padStart(2, '0')
  return hashSync(password, `$2a$${costText}$${encodeBase64(salt, SALT_BYTES)}`)
}

/** Decrypts PKCS #1 v1.5 (RFC 8017, section 7.2.2). */
function decryptRsa(crypto: CryptoHost, jwk: Jwk, cipher: Uint8Array): Result<Uint8Array, string> {
  const bits = numberIn(jwk, 'n').toString(2).length
  if (bits > RSA_BITS_MAX)
    return err(`the key has ${bits} bits; at most ${RSA_BITS_MAX} are allowed`)
  const size = Math.ceil(bits / 8)
  const block =
    cipher.length === size ? crypto.decryptRsaRaw({ form: 'jwk', jwk }, cipher) : undefined
  if (block === undefined)
    return err(`the ciphertext must be ${size} bytes that were encrypted for this key`)
  const message = unpad(block)
  return message === undefined ? err('the ciphertext was not encrypted for this key') : ok(message)
}

/**
 * Expects `00 02`, at least eight non-zero bytes, `00` and the message. OpenSSL returns random
 * bytes instead of an error for invalid padding (implicit rejection); the author of a job file owns
 * the key and needs the error.
 */
function unpad(block: Uint8Array): Uint8Array | undefined {
  const end = block.indexOf(0, 2)
  if (block[0] !== 0 || block[1] !== 2 || end < 10) return undefined
  return block.subarray(end + 1)
}

/** Longer than any allowed key in any format. */
const PEM_CHARACTERS_MAX = RSA_BITS_MAX * 4

/** Parses an RSA key in PEM: PKCS #1, PKCS #8 or OpenSSH, without a passphrase. */
export function parsePrivateKey(crypto: CryptoHost, pem: string): Result<Jwk, string> {
  if (pem.length > PEM_CHARACTERS_MAX)
    return err(`it must be PEM text of at most ${PEM_CHARACTERS_MAX} characters`)
  const [block] = findPem(pem)
  if (block === undefined) return err('it must be PEM text, from "-----BEGIN" to "-----END"')
  const { label, content, headers } = block
  const isProtected = headers.some((header) => header.startsWith('Proc-Type:'))
  if (label === 'ENCRYPTED PRIVATE KEY' || isProtected)
    return err('it must not be protected by a passphrase')
  const bytes = decodeBase64(content)
  if (bytes === undefined) return err('it is not valid base64 between its first and last line')
  switch (label) {
    case 'RSA PRIVATE KEY':
      return readRsaKey(crypto, 'pkcs1', bytes)
    case 'PRIVATE KEY':
      return readRsaKey(crypto, 'pkcs8', bytes)
    case 'OPENSSH PRIVATE KEY':
      return readOpenSshKey(crypto, bytes)
    default:
      return err(`it must be an RSA private key, but it is ${JSON.stringify(label)}`)
  }
}

function readRsaKey(crypto: CryptoHost, form: KeyEncoding, der: Uint8Array): Result<Jwk, string> {
  const key = crypto.privateJwk({ form, der })
  return key?.kty === 'RSA' ? ok(key) : err(NOT_RSA)
}

/** The host exported the key, so its numbers are valid base64url. */
function numberIn(key: Jwk, name: keyof Jwk): bigint {
  return bytesToBigInt(decodeBase64Url(key[name] ?? '') ?? new Uint8Array(0))
}

const NOT_RSA = 'it is not an RSA private key'

const MAGIC = encodeUtf8('openssh-key-v1\0')

/**
 * Parses the `ssh-keygen` format: cipher, key derivation and its options, number of keys, public
 * key and private section, each with a length prefix.
 */
function readOpenSshKey(crypto: CryptoHost, bytes: Uint8Array): Result<Jwk, string> {
  if (MAGIC.some((byte, index) => bytes[index] !== byte)) return err(NOT_RSA)
  const [cipher, , , , , privatePart] = readFields(bytes.subarray(MAGIC.length), HEADER)
  if (cipher === undefined || privatePart === undefined) return err(NOT_RSA)
  if (decodeUtf8(cipher) !== 'none') return err('it must not be protected by a passphrase')
  const [, , kind, ...numbers] = readFields(privatePart, RSA_FIELDS).map(bytesToBigInt)
  if (kind !== bytesToBigInt(encodeUtf8('ssh-rsa'))) return err(NOT_RSA)
  const [n, e, d, qi, p, q] = numbers
  if (n === undefined || e === undefined || d === undefined || qi === undefined) return err(NOT_RSA)
  if (p === undefined || q === undefined || p < 2n || q < 2n) return err(NOT_RSA)
  const members = { n, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi }
  const jwk: Jwk = { kty: 'RSA' }
  for (const [name, value] of Object.entries(members)) Object.assign(jwk, { [name]: encode(value) })
  const key = crypto.privateJwk({ form: 'jwk', jwk })
  return key === undefined ? err(NOT_RSA) : ok(key)
}

function encode(value: bigint): string {
  const size = Math.max(1, Math.ceil(value.toString(16).length / 2))
  return encodeBase64Url(bigIntToBytes(value, size))
}

/** A `number` has four bytes; a `field` has a length prefix. */
type FieldKind = 'number' | 'field'
const HEADER: readonly FieldKind[] = ['field', 'field', 'field', 'number', 'field', 'field']

/** Two check numbers, the key type, modulus, both exponents, the inverse, the primes. */
const RSA_FIELDS: readonly FieldKind[] = [
  'number',
  'number',
  'field',
  'field',
  'field',
  'field',
  'field',
  'field',
  'field',
]

/** Reads the complete fields; a truncated field ends the list. */
function readFields(bytes: Uint8Array, kinds: readonly FieldKind[]): readonly Uint8Array[] {
  const fields: Uint8Array[] = []
  let at = 0
  for (const kind of kinds) {
    const start = kind === 'field' ? at + 4 : at
    const length = kind === 'field' ? lengthAt(bytes, at) : 4
    if (start + length > bytes.length) return fields
    fields.push(bytes.subarray(start, start + length))
    at = start + length
  }
  return fields
}

function lengthAt(bytes: Uint8Array, at: number): number {
  return Number(bytesToBigInt(bytes.subarray(at, at + 4)))
}

export function uuidFunctions(random: Random): Readonly<Record<string, FunctionDefinition>> {
  return {
    uuidv4: define([], () => ok(toUuid(randomBytes(random, 16), 4))),
    uuidv5: define([text('namespace'), text('name')], ([namespace, name], meter) => {
      const space = NAMESPACES.get(namespace) ?? namespace
      const digits = UUID.test(space) ? space.replaceAll('-', '') : undefined
      if (digits === undefined)
        return failArgument(0, 'namespace must be "dns", "url", "oid", "x500" or a UUID')
      const bytes = [...fromHex(digits), ...encodeUtf8(name)]
      const paid = chargeSteps(meter, bytes.length * STEPS_PER_HASHED_BYTE)
      return paid.ok ? ok(toUuid(sha1(Uint8Array.from(bytes)), 5)) : paid
    }),
  }
}

/** RFC 9562, section 6.6. */
const NAMESPACES: ReadonlyMap<string, string> = new Map([
  ['dns', '6ba7b810-9dad-11d1-80b4-00c04fd430c8'],
  ['url', '6ba7b811-9dad-11d1-80b4-00c04fd430c8'],
  ['oid', '6ba7b812-9dad-11d1-80b4-00c04fd430c8'],
  ['x500', '6ba7b814-9dad-11d1-80b4-00c04fd430c8'],
])

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

function fromHex(digits: string): readonly number[] {
  return Array.from({ length: 16 }, (_, index) =>
    Number.parseInt(digits.slice(index * 2, index * 2 + 2), 16),
  )
}

/** Sets the version and variant bits (RFC 9562, section 4). */
function toUuid(bytes: Uint8Array, version: number): string {
  const marked = Uint8Array.from(bytes.subarray(0, 16))
  marked[6] = ((marked[6] ?? 0) & 0x0f) | (version << 4)
  marked[8] = ((marked[8] ?? 0) & 0x3f) | 0x80
  const hex = encodeHex(marked)
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
    hex.slice(20),
  ].join('-')
}

function randomBytes(random: Random, count: number): Uint8Array {
  return Uint8Array.from({ length: count }, () => Math.floor(random.next() * 256))
}
