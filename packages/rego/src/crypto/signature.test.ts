import assert from 'node:assert/strict'
import {
  createHmac,
  generateKeyPairSync,
  sign as signWithHost,
  verify as verifyWithHost,
  constants,
  type KeyObject,
} from 'node:crypto'
import { test } from 'node:test'
import { nodeCrypto } from '@reeve/kit/test/node-crypto.ts'
import { encodeHex } from '@reeve/kit/bytes.ts'
import { encodeUtf8 } from '@reeve/kit/utf8.ts'
import { objectOf, type ObjectValue } from '../value/value.ts'
import { hmac, MD5, SHA1, SHA256, SHA384, SHA512 } from '@reeve/kit/hash.ts'
import {
  jwkFromPrivateKey,
  privateKeyFromJwk,
  privateKeyOf,
  publicKeyFromJwk,
  publicKeyOf,
} from './keys.ts'
import { readPem } from '@reeve/kit/pem.ts'
import { ALGORITHMS, makeSignature, verifySignature, type Algorithm } from './signature.ts'

const context = {
  nowNs: 0n,
  crypto: nodeCrypto,
  random: () => 0.3,
  memory: new Map<string, unknown>(),
  note: () => undefined,
  testCase: () => undefined,
  charge: () => undefined,
  fail: () => undefined,
  failType: () => undefined,
  refuse: () => undefined,
}

function jwkOf(key: KeyObject): ObjectValue {
  const entries = Object.entries(key.export({ format: 'jwk' }))
  const jwk = objectOf(entries.map(([name, value]) => [name, String(value)]))
  return jwk
}

function algorithmOf(name: string): Algorithm {
  const algorithm = ALGORITHMS.get(name)
  assert.ok(algorithm)
  return algorithm
}

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const edwards = generateKeyPairSync('ed25519')
const ellipticOf = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve })

const pss = {
  padding: constants.RSA_PKCS1_PSS_PADDING,
  saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
}
const raw = { dsaEncoding: 'ieee-p1363' } as const

const cases = [
  { name: 'RS256', pair: rsa, hash: 'sha256', options: {} },
  { name: 'RS512', pair: rsa, hash: 'sha512', options: {} },
  { name: 'PS256', pair: rsa, hash: 'sha256', options: pss },
  { name: 'PS384', pair: rsa, hash: 'sha384', options: pss },
  { name: 'ES256', pair: ellipticOf('P-256'), hash: 'sha256', options: raw },
  { name: 'ES384', pair: ellipticOf('P-384'), hash: 'sha384', options: raw },
  { name: 'ES512', pair: ellipticOf('P-521'), hash: 'sha512', options: raw },
  { name: 'EdDSA', pair: edwards, hash: null, options: {} },
]

for (const { name, pair, hash, options } of cases) {
  const message = encodeUtf8(`a message for ${name}`)
  test(`${name}: what the host signed is verified, and nothing else`, () => {
    const signature = signWithHost(hash, message, { key: pair.privateKey, ...options })
    const key = publicKeyFromJwk(nodeCrypto, jwkOf(pair.publicKey))
    assert.ok(key)
    const use = { algorithm: algorithmOf(name), key }
    assert.ok(verifySignature(context, use, { message, signature }))
    assert.ok(!verifySignature(context, use, { message: encodeUtf8('another'), signature }))
    const broken = Uint8Array.from(signature)
    broken[5] = (broken[5] ?? 0) ^ 1
    assert.ok(!verifySignature(context, use, { message, signature: broken }))
    assert.ok(!verifySignature(context, use, { message, signature: signature.subarray(1) }))
  })
  test(`${name}: the host verifies what was signed here`, () => {
    const key = privateKeyFromJwk(nodeCrypto, jwkOf(pair.privateKey))
    assert.ok(key)
    const signature = makeSignature(context, { algorithm: algorithmOf(name), key }, message)
    assert.ok(signature)
    assert.ok(verifyWithHost(hash, message, { key: pair.publicKey, ...options }, signature))
  })
}

const PKCS8 = 'pkcs8'
const PKCS_FORMS = ['pkcs1', PKCS8] as const
const ED_FORMS = [PKCS8] as const
const SEC_FORMS = ['sec1', PKCS8] as const

function exportKey(key: KeyObject, type: 'pkcs1' | 'pkcs8' | 'sec1') {
  const format = 'pem'
  if (type === 'pkcs1') return key.export({ type, format })
  return type === 'sec1' ? key.export({ type, format }) : key.export({ type, format })
}

test('keys of the usual forms of PEM are read, and become the JWK that the host makes', () => {
  for (const { pair } of cases) {
    const forms = pair === rsa ? PKCS_FORMS : pair === edwards ? ED_FORMS : SEC_FORMS
    for (const type of forms) {
      const text = String(exportKey(pair.privateKey, type))
      const [block] = readPem(text)
      assert.ok(block)
      const key = privateKeyOf(nodeCrypto, block)
      assert.ok(key)
      const host = jwkOf(pair.privateKey)
      const own = jwkFromPrivateKey(key)
      for (const name of ['kty', 'n', 'e', 'd', 'x', 'y', 'p', 'q', 'dp', 'dq', 'qi'])
        assert.equal(own.get(name), host.get(name), name)
    }
    const [block] = readPem(String(pair.publicKey.export({ type: 'spki', format: 'pem' })))
    assert.ok(block)
    assert.equal(publicKeyOf(nodeCrypto, block)?.form, 'spki')
  }
})

test('hmac gives what the host gives, for keys shorter and longer than a block', () => {
  for (const hash of [MD5, SHA1, SHA256, SHA384, SHA512])
    for (const length of [0, 20, 64, 128, 200]) {
      const key = new Uint8Array(length).fill(7)
      const message = encodeUtf8('message')
      const wanted = createHmac(hash.name, key).update(message).digest('hex')
      assert.equal(encodeHex(hmac(hash, key, message)), wanted)
    }
})
