import { joinBytes, toBigInt, toBytes } from '../../../kit/bytes.ts'
import { hmac, type Hash } from './hash.ts'
import { bitLength, modularInverse, modulo } from '../../../kit/modular.ts'

/** A curve `y² = x³ - 3x + b`, its base point, and how many points that generates. */
export interface Curve {
  readonly name: 'P-224' | 'P-256' | 'P-384' | 'P-521'
  readonly prime: bigint
  readonly b: bigint
  readonly base: Point
  readonly order: bigint
  /** Bytes of a coordinate. */
  readonly size: number
}
interface Point {
  readonly x: bigint
  readonly y: bigint
}
export interface EcPublicKey {
  readonly type: 'ec'
  readonly curve: Curve
  readonly point: Point
}
export interface EcPrivateKey extends EcPublicKey {
  readonly secret: bigint
}

/** The two numbers of a signature. */
export interface EcSignature {
  readonly r: bigint
  readonly s: bigint
}

/** FIPS 186-5, section 6.4.2. */
export function verifyEcdsa(
  { curve, point }: EcPublicKey,
  digest: Uint8Array,
  { r, s }: EcSignature,
): boolean {
  const { order } = curve
  if (r <= 0n || r >= order || s <= 0n || s >= order || !isOnCurve(curve, point)) return false
  const inverse = modularInverse(s, order)
  const e = digestNumber(curve, digest)
  const sum = addJacobian(
    curve,
    multiply(curve, curve.base, (e * inverse) % order),
    multiply(curve, point, (r * inverse) % order),
  )
  const found = toAffine(curve, sum)
  return found !== undefined && found.x % order === r
}

/** RFC 6979: the secret number of a signature comes from key and message, so none is used twice. */
export function signEcdsa(
  { curve, secret }: EcPrivateKey,
  hash: Hash,
  message: Uint8Array,
): EcSignature {
  const { order } = curve
  const digest = hash.digest(message)
  const e = digestNumber(curve, digest)
  const size = Math.ceil(bitLength(order) / 8)
  const seed = joinBytes(toBytes(secret, size), toBytes(e % order, size))
  let key: Uint8Array = new Uint8Array(hash.size)
  let value: Uint8Array = new Uint8Array(hash.size).fill(1)
  for (const mark of [0, 1]) {
    key = hmac(hash, key, joinBytes(value, Uint8Array.of(mark), seed))
    value = hmac(hash, key, value)
  }
  for (;;) {
    let bytes: Uint8Array = new Uint8Array(0)
    while (bytes.length < size) {
      value = hmac(hash, key, value)
      bytes = joinBytes(bytes, value)
    }
    const k = cutNumber(bytes.subarray(0, size), bitLength(order))
    const signature = k > 0n && k < order ? signWith(curve, { secret, e, k }) : undefined
    if (signature !== undefined) return signature
    key = hmac(hash, key, joinBytes(value, Uint8Array.of(0)))
    value = hmac(hash, key, value)
  }
}

function signWith(
  curve: Curve,
  { secret, e, k }: { readonly secret: bigint; readonly e: bigint; readonly k: bigint },
): EcSignature | undefined {
  const { order } = curve
  const point = toAffine(curve, multiply(curve, curve.base, k))
  const r = (point?.x ?? 0n) % order
  const s = modulo(modularInverse(k, order) * (e + r * secret), order)
  return r === 0n || s === 0n ? undefined : { r, s }
}

/** The public half of a secret. */
export function publicPoint(curve: Curve, secret: bigint): Point | undefined {
  return toAffine(curve, multiply(curve, curve.base, secret))
}

export function isOnCurve({ prime, b }: Curve, { x, y }: Point): boolean {
  if (x < 0n || x >= prime || y < 0n || y >= prime) return false
  return modulo(y * y - (x * x * x - 3n * x + b), prime) === 0n
}

function digestNumber({ order }: Curve, digest: Uint8Array): bigint {
  return cutNumber(digest, bitLength(order))
}

/** The leading bits. */
function cutNumber(bytes: Uint8Array, bits: number): bigint {
  const surplus = bytes.length * 8 - bits
  return surplus > 0 ? toBigInt(bytes) >> BigInt(surplus) : toBigInt(bytes)
}

/** `(x / z², y / z³)`: no division until the end; `z` is zero for the point that adds nothing. */
interface Jacobian {
  readonly x: bigint
  readonly y: bigint
  readonly z: bigint
}

const NOTHING: Jacobian = { x: 1n, y: 1n, z: 0n }

function multiply(curve: Curve, { x, y }: Point, times: bigint): Jacobian {
  let sum = NOTHING
  const one: Jacobian = { x, y, z: 1n }
  for (const bit of times.toString(2)) {
    sum = double(curve, sum)
    if (bit === '1') sum = addJacobian(curve, sum, one)
  }
  return sum
}

function double({ prime }: Curve, { x, y, z }: Jacobian): Jacobian {
  if (z === 0n || y === 0n) return NOTHING
  const delta = (z * z) % prime
  const gamma = (y * y) % prime
  const beta = (x * gamma) % prime
  const alpha = modulo(3n * (x - delta) * (x + delta), prime)
  const nextX = modulo(alpha * alpha - 8n * beta, prime)
  const nextZ = modulo((y + z) ** 2n - gamma - delta, prime)
  const nextY = modulo(alpha * (4n * beta - nextX) - 8n * gamma * gamma, prime)
  return { x: nextX, y: nextY, z: nextZ }
}

function addJacobian(curve: Curve, a: Jacobian, b: Jacobian): Jacobian {
  if (a.z === 0n) return b
  if (b.z === 0n) return a
  const { prime } = curve
  const aZ = (a.z * a.z) % prime
  const bZ = (b.z * b.z) % prime
  const u1 = (a.x * bZ) % prime
  const u2 = (b.x * aZ) % prime
  const s1 = (((a.y * b.z) % prime) * bZ) % prime
  const s2 = (((b.y * a.z) % prime) * aZ) % prime
  const h = modulo(u2 - u1, prime)
  const r = modulo(s2 - s1, prime)
  if (h === 0n) return r === 0n ? double(curve, a) : NOTHING
  const square = (h * h) % prime
  const cube = (square * h) % prime
  const middle = (u1 * square) % prime
  const x = modulo(r * r - cube - 2n * middle, prime)
  return {
    x,
    y: modulo(r * (middle - x) - s1 * cube, prime),
    z: (((a.z * b.z) % prime) * h) % prime,
  }
}

function toAffine({ prime }: Curve, { x, y, z }: Jacobian): Point | undefined {
  if (z === 0n) return undefined
  const inverse = modularInverse(z, prime)
  const square = (inverse * inverse) % prime
  return { x: (x * square) % prime, y: (((y * square) % prime) * inverse) % prime }
}
