/** Never below zero. */
export function modulo(value: bigint, modulus: bigint): bigint {
  const rest = value % modulus
  return rest < 0n ? rest + modulus : rest
}

export function modularPower(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let result = 1n % modulus
  let square = modulo(base, modulus)
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

/** What times the value leaves one, by Euclid; meaningless when they have a common divisor. */
export function modularInverse(value: bigint, modulus: bigint): bigint {
  let [rest, nextRest] = [modulus, modulo(value, modulus)]
  let [factor, nextFactor] = [0n, 1n]
  while (nextRest !== 0n) {
    const quotient = rest / nextRest
    ;[rest, nextRest] = [nextRest, rest - quotient * nextRest]
    ;[factor, nextFactor] = [nextFactor, factor - quotient * nextFactor]
  }
  return modulo(factor, modulus)
}

export function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length
}

/** A private key of RSA; `secret` is its exponent. */
export interface RsaPrimes {
  readonly secret: bigint
  readonly p: bigint
  readonly q: bigint
}

/** By the Chinese remainder theorem: two powers of half the size take a quarter of the time. */
export function rsaPrivatePower({ secret, p, q }: RsaPrimes, value: bigint): bigint {
  const atP = modularPower(value, secret % (p - 1n), p)
  const atQ = modularPower(value, secret % (q - 1n), q)
  const lift = modulo((atP - atQ) * modularInverse(q, p), p)
  return atQ + q * lift
}
