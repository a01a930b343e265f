import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { HostKey, Jwk, SignatureScheme } from '../src/crypto-host.ts'
import { nodeCrypto } from './index.ts'

const message = Buffer.from('message')
const rsa = generateKeyPairSync('rsa', { modulusLength: 1024 })
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const ed = generateKeyPairSync('ed25519')
const keys: Readonly<Record<string, HostKey>> = {
  rsa: { form: 'jwk', jwk: rsa.privateKey.export({ format: 'jwk' }) },
  ec: { form: 'jwk', jwk: ec.privateKey.export({ format: 'jwk' }) },
  ed25519: { form: 'jwk', jwk: ed.privateKey.export({ format: 'jwk' }) },
}
const schemes: readonly (readonly [string, SignatureScheme])[] = [
  ['rsa', { kind: 'pkcs1', hash: 'sha256' }],
  ['rsa', { kind: 'pss', hash: 'sha256' }],
  ['ec', { kind: 'ecdsa', hash: 'sha256' }],
  ['ec', { kind: 'ecdsa', hash: 'sha256', encoding: 'der' }],
  ['ed25519', { kind: 'eddsa', hash: 'sha512' }],
]

for (const [own, scheme] of schemes)
  test(`${scheme.kind} ${scheme.encoding ?? ''}: a key signs and verifies only with its scheme`, () => {
    for (const [name, key] of Object.entries(keys)) {
      const signature = nodeCrypto.sign(key, scheme, message)
      assert.equal(signature !== undefined, name === own, name)
      if (signature === undefined) continue
      assert.ok(nodeCrypto.verify(key, scheme, { message, signature }))
      assert.ok(!nodeCrypto.verify(key, scheme, { message: Buffer.from('other'), signature }))
      assert.ok(!nodeCrypto.verify(key, scheme, { message, signature: signature.subarray(1) }))
      for (const [other, wrong] of Object.entries(keys))
        if (other !== own) assert.ok(!nodeCrypto.verify(wrong, scheme, { message, signature }))
    }
  })

const rsaJwk: Jwk = rsa.privateKey.export({ format: 'jwk' })
const unusable: readonly (readonly [string, Jwk])[] = [
  ['a prime that does not divide the modulus', { ...rsaJwk, p: rsaJwk.q ?? '' }],
  ['no kind', { n: 'AQAB', e: 'AQAB' }],
  ['a point that is not on the curve', { ...ec.publicKey.export({ format: 'jwk' }), y: 'AQAB' }],
]
for (const [what, jwk] of unusable)
  test(`a private key with ${what} cannot be used`, () => {
    assert.equal(nodeCrypto.privateJwk({ form: 'jwk', jwk }), undefined)
  })

test('an RSA modulus may have 8192 bits and no more', () => {
  const modulus = (bits: number) => {
    const bytes = Buffer.alloc(Math.ceil(bits / 8), 0xff)
    bytes[0] = 0xff >> ((8 - (bits % 8)) % 8)
    return bytes.toString('base64url')
  }
  const read = (bits: number) =>
    nodeCrypto.publicJwk({ form: 'jwk', jwk: { kty: 'RSA', n: modulus(bits), e: 'AQAB' } })
  assert.notEqual(read(8192), undefined)
  assert.equal(read(8193), undefined)
})

test('a private key is not accepted as a public key', () => {
  const der = ec.privateKey.export({ type: 'pkcs8', format: 'der' })
  for (const form of ['spki', 'pkcs8', 'sec1'] as const)
    assert.equal(nodeCrypto.publicJwk({ form, der }), undefined, form)
})

test('key readers never throw', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (der) => {
      for (const form of ['spki', 'pkcs1', 'pkcs8', 'sec1'] as const) {
        assert.equal(nodeCrypto.publicJwk({ form, der }), undefined)
        assert.equal(nodeCrypto.privateJwk({ form, der }), undefined)
        assert.equal(nodeCrypto.decryptRsaRaw({ form, der }, message), undefined)
      }
    }),
  )
})
