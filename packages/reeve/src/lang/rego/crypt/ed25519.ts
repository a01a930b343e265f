import { sha512 } from '@noble/hashes/sha2.js'
import { joinBytes, toBigInt, toBytes } from '../../../kit/bytes.ts'
import { modularPower, modulo } from '../../../kit/modular.ts'

export interface EdPublicKey {
  readonly type: 'ed25519'
  readonly bytes: Uint8Array
}
export interface EdPrivateKey extends EdPublicKey {
  readonly seed: Uint8Array
}

/** RFC 8032, section 5.1. */
const PRIME = 2n ** 255n - 19n
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n
const D = modulo(-121665n * modularPower(121666n, PRIME - 2n, PRIME), PRIME)
const ROOT_OF_MINUS_ONE = modularPower(2n, (PRIME - 1n) / 4n, PRIME)

/** `x / z`, `y / z` and their product. */
interface Point {
  readonly x: bigint
  readonly y: bigint
  readonly z: bigint
  readonly t: bigint
}

const NOTHING: Point = { x: 0n, y: 1n, z: 1n, t: 0n }

export function verifyEd25519(
  { bytes: publicKey }: EdPublicKey,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if (signature.length !== 64 || publicKey.length !== 32) return false
  const point = decodePoint(publicKey)
  const r = decodePoint(signature.subarray(0, 32))
  const s = fromLittleEndian(signature.subarray(32))
  if (point === undefined || r === undefined || s >= ORDER) return false
  const k = numberOf(joinBytes(signature.subarray(0, 32), publicKey, message))
  return isSame(multiply(basePoint(), s), add(r, multiply(point, k)))
}

export function signEd25519(
  { seed, bytes: publicKey }: EdPrivateKey,
  message: Uint8Array,
): Uint8Array {
  const { secret, prefix } = expandSeed(seed)
  const r = numberOf(joinBytes(prefix, message))
  const first = encodePoint(multiply(basePoint(), r))
  const k = numberOf(joinBytes(first, publicKey, message))
  const s = modulo(r + k * secret, ORDER)
  return joinBytes(first, toBytes(s, 32).toReversed())
}

export function publicBytes(seed: Uint8Array): Uint8Array {
  return encodePoint(multiply(basePoint(), expandSeed(seed).secret))
}

function expandSeed(seed: Uint8Array): { readonly secret: bigint; readonly prefix: Uint8Array } {
  const digest = sha512(seed)
  const low = digest.slice(0, 32)
  low[0] = (low[0] ?? 0) & 0xf8
  low[31] = ((low[31] ?? 0) & 0x7f) | 0x40
  return { secret: fromLittleEndian(low), prefix: digest.subarray(32) }
}

function numberOf(message: Uint8Array): bigint {
  return fromLittleEndian(sha512(message)) % ORDER
}

function fromLittleEndian(bytes: Uint8Array): bigint {
  return toBigInt(bytes.toReversed())
}

let base: Point | undefined

function basePoint(): Point {
  const y = modulo(4n * modularPower(5n, PRIME - 2n, PRIME), PRIME)
  base ??= decodePoint(toBytes(y, 32).toReversed()) ?? NOTHING
  return base
}

/** RFC 8032, section 5.1.3: the height, and one bit for the side. */
function decodePoint(bytes: Uint8Array): Point | undefined {
  const number = fromLittleEndian(bytes)
  const isOdd = number >> 255n === 1n
  const y = number & (2n ** 255n - 1n)
  if (y >= PRIME) return undefined
  const over = modulo(y * y - 1n, PRIME)
  const under = modulo(D * y * y + 1n, PRIME)
  const power = modularPower(over * under ** 7n, (PRIME - 5n) / 8n, PRIME)
  let x = modulo(over * under ** 3n * power, PRIME)
  const check = modulo(under * x * x, PRIME)
  if (check !== over) {
    if (check !== modulo(-over, PRIME)) return undefined
    x = modulo(x * ROOT_OF_MINUS_ONE, PRIME)
  }
  if (x === 0n && isOdd) return undefined
  if (((x & 1n) === 1n) !== isOdd) x = PRIME - x
  return { x, y, z: 1n, t: modulo(x * y, PRIME) }
}

function encodePoint({ x, y, z }: Point): Uint8Array {
  const inverse = modularPower(z, PRIME - 2n, PRIME)
  const height = modulo(y * inverse, PRIME)
  const side = modulo(x * inverse, PRIME) & 1n
  return toBytes(height | (side << 255n), 32).toReversed()
}

function multiply(point: Point, times: bigint): Point {
  let sum = NOTHING
  for (const bit of times.toString(2)) {
    sum = add(sum, sum)
    if (bit === '1') sum = add(sum, point)
  }
  return sum
}

function add(a: Point, b: Point): Point {
  const p = modulo((a.y - a.x) * (b.y - b.x), PRIME)
  const q = modulo((a.y + a.x) * (b.y + b.x), PRIME)
  const c = modulo(2n * a.t * b.t * D, PRIME)
  const d = modulo(2n * a.z * b.z, PRIME)
  const [e, f, g, h] = [q - p, d - c, d + c, q + p]
  return {
    x: modulo(e * f, PRIME),
    y: modulo(g * h, PRIME),
    z: modulo(f * g, PRIME),
    t: modulo(e * h, PRIME),
  }
}

function isSame(a: Point, b: Point): boolean {
  return modulo(a.x * b.z - b.x * a.z, PRIME) === 0n && modulo(a.y * b.z - b.y * a.z, PRIME) === 0n
}
