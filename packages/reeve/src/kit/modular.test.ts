import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bitLength, modularInverse, modularPower, modulo, rsaPrivatePower } from './modular.ts'

test('modular: powers, inverses and rests are what the plain formulas say', () => {
  fc.assert(
    fc.property(fc.bigInt(-500n, 500n), fc.bigInt(0n, 40n), fc.bigInt(1n, 500n), (a, n, m) => {
      assert.equal(modularPower(a, n, m), modulo(a ** n, m))
    }),
  )
  for (let value = 1n; value < 101n; value++)
    assert.equal(modulo(value * modularInverse(value, 101n), 101n), 1n)
  assert.deepEqual([0n, 1n, 255n, 256n].map(bitLength), [0, 1, 8, 9])
})

test('modular: a message that was encrypted is decrypted', () => {
  const key = { secret: 413n, p: 61n, q: 53n }
  for (const message of [0n, 1n, 65n, 3000n])
    assert.equal(rsaPrivatePower(key, modularPower(message, 17n, 3233n)), message)
})
