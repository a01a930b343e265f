import { joinBytes, sameBytes, toBigInt, toBytes } from '../../../kit/bytes.ts'
import type { Hash } from './hash.ts'
import { bitLength, modularPower, rsaPrivatePower } from '../../../kit/modular.ts'

export interface RsaPublicKey {
  readonly type: 'rsa'
  readonly modulus: bigint
  readonly exponent: bigint
}
export interface RsaPrivateKey extends RsaPublicKey {
  readonly secret: bigint
  readonly p: bigint
  readonly q: bigint
}

/** The exponent is public and short: longer ones are allowed, unused, and would take long. */
const EXPONENT_MAX = 2n ** 32n

/** RFC 8017, section 8.2.2. */
export function verifyPkcs1(
  key: RsaPublicKey,
  hash: Hash,
  { message, signature }: SignedMessage,
): boolean {
  const size = sizeOf(key)
  const block = openSignature(key, signature)
  const wanted = pkcs1Block(hash, hash.digest(message), size)
  return block !== undefined && wanted !== undefined && sameBytes(block, wanted)
}

export interface SignedMessage {
  readonly message: Uint8Array
  readonly signature: Uint8Array
}

/** RFC 8017, section 8.2.1; undefined when the key is too short for the hash. */
export function signPkcs1(
  key: RsaPrivateKey,
  hash: Hash,
  message: Uint8Array,
): Uint8Array | undefined {
  const size = sizeOf(key)
  const block = pkcs1Block(hash, hash.digest(message), size)
  return block === undefined ? undefined : toBytes(rsaPrivatePower(key, toBigInt(block)), size)
}

/** RFC 8017, section 8.1.2; the salt is as long as it is. */
export function verifyPss(
  key: RsaPublicKey,
  hash: Hash,
  { message, signature }: SignedMessage,
): boolean {
  const block = openSignature(key, signature)
  if (block === undefined) return false
  const bits = bitLength(key.modulus) - 1
  const encoded = bits % 8 === 0 ? block.subarray(1) : block
  if (encoded.length < hash.size + 2 || encoded.at(-1) !== 0xbc) return false
  const split = encoded.length - hash.size - 1
  const masked = encoded.subarray(0, split)
  const digest = encoded.subarray(split, -1)
  const mask = expandMask(hash, digest, split)
  const data = masked.map((byte, at) => byte ^ (mask[at] ?? 0))
  data[0] = (data[0] ?? 0) & (0xff >> (encoded.length * 8 - bits))
  const mark = data.findIndex((byte) => byte !== 0)
  if (mark < 0 || data[mark] !== 1) return false
  return sameBytes(digest, saltedDigest(hash, message, data.subarray(mark + 1)))
}

/** RFC 8017, section 8.1.1. */
export function signPss(
  key: RsaPrivateKey,
  hash: Hash,
  { message, salt }: { readonly message: Uint8Array; readonly salt: Uint8Array },
): Uint8Array | undefined {
  const bits = bitLength(key.modulus) - 1
  const length = Math.ceil(bits / 8)
  const split = length - hash.size - 1
  if (split < salt.length + 1) return undefined
  const digest = saltedDigest(hash, message, salt)
  const data = joinBytes(new Uint8Array(split - salt.length - 1), Uint8Array.of(1), salt)
  const mask = expandMask(hash, digest, split)
  const masked = data.map((byte, at) => byte ^ (mask[at] ?? 0))
  masked[0] = (masked[0] ?? 0) & (0xff >> (length * 8 - bits))
  const block = joinBytes(masked, digest, Uint8Array.of(0xbc))
  return toBytes(rsaPrivatePower(key, toBigInt(block)), sizeOf(key))
}

function sizeOf({ modulus }: RsaPublicKey): number {
  return Math.ceil(bitLength(modulus) / 8)
}

function openSignature(key: RsaPublicKey, signature: Uint8Array): Uint8Array | undefined {
  const value = toBigInt(signature)
  const size = sizeOf(key)
  if (signature.length !== size || value >= key.modulus || key.exponent > EXPONENT_MAX)
    return undefined
  return toBytes(modularPower(value, key.exponent, key.modulus), size)
}

/** The last number of the identifier of each hash, and its header (RFC 8017, section 9.2). */
const DIGEST_HEADERS: Readonly<Record<Hash['name'], readonly number[]>> = {
  md5: [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x02, 0x05],
  sha1: [0x2b, 0x0e, 0x03, 0x02, 0x1a],
  sha256: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01],
  sha384: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x02],
  sha512: [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x03],
}

/** `00 01`, at least eight `ff`, `00`, and the digest with the name of its hash. */
function pkcs1Block(hash: Hash, digest: Uint8Array, size: number): Uint8Array | undefined {
  const oid = DIGEST_HEADERS[hash.name]
  const algorithm = [0x30, oid.length + 4, 0x06, oid.length, ...oid, 0x05, 0x00]
  const info = Uint8Array.of(
    0x30,
    algorithm.length + digest.length + 2,
    ...algorithm,
    0x04,
    digest.length,
    ...digest,
  )
  const padding = size - info.length - 3
  if (padding < 8) return undefined
  return joinBytes(Uint8Array.of(0, 1), new Uint8Array(padding).fill(0xff), Uint8Array.of(0), info)
}

/** RFC 8017, section B.2.1. */
function expandMask(hash: Hash, seed: Uint8Array, length: number): Uint8Array {
  const mask = new Uint8Array(length)
  for (let at = 0; at * hash.size < length; at++) {
    const block = hash.digest(joinBytes(seed, toBytes(BigInt(at), 4)))
    mask.set(block.subarray(0, length - at * hash.size), at * hash.size)
  }
  return mask
}

function saltedDigest(hash: Hash, message: Uint8Array, salt: Uint8Array): Uint8Array {
  return hash.digest(joinBytes(new Uint8Array(8), hash.digest(message), salt))
}
