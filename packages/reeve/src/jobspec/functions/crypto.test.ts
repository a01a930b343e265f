import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, publicEncrypt, type JsonWebKey } from 'node:crypto'
import { test } from 'node:test'
import { nodeCrypto } from '@reeve/kit/test/node-crypto.ts'
import { call, fails, testCalls } from '../../../test/build/function-cases.ts'
import { bcrypt, parsePrivateKey } from './crypto.ts'

const { raw } = String

testCalls([
  ['md5("hello world")', '"5eb63bbbe01eeed093cb22bb8f5acdc3"'],
  ['md5("")', '"d41d8cd98f00b204e9800998ecf8427e"'],
  ['sha1("hello world")', '"2aae6c35c94fcfb415dbe95f408b9ce91ee846ed"'],
  ['sha256("hello world")', '"b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"'],
  [
    'sha512("hello world")',
    '"309ecc489c12d6eb4cc40f50c902f2b4d0ed77ee511a7c7a9bcd3ca86d4cd86f989dd35bc5ff499670da34255b45b0cfd830e81f605dcf7dc5542e93ae9cd76f"',
  ],
  ['sha256("é")', '"4a99557e4033c3539de2eb65472017cad5f9557f7a0625a09f1c3f6e2ba69c4c"'],
  ['md5(5) == md5("5")', 'true'],
  ['sha256(null)', fails('it must not be null')],

  ['substr(bcrypt("x", 4), 0, 7)', '"$2a$04$"'],
  ['strlen(bcrypt("x", 4))', '60'],
  ['bcrypt("x", 3)', fails('cost must be a whole number from 4 to 10')],
  ['bcrypt("x", 11)', fails('cost must be a whole number from 4 to 10')],
  ['bcrypt("x", 4, 5)', fails('it takes at most 2 argument(s)')],
  [`bcrypt("${'x'.repeat(73)}", 4)`, fails('str must be at most 72 bytes long')],
  ['[for i in range(5) : bcrypt("x")]', fails('it needs more than the 2000000 steps')],

  ['rsadecrypt("####", "")', fails('ciphertext must be base64')],
  ['rsadecrypt("", "no key")', fails('privatekey cannot be used: it must be PEM text')],
  [
    raw`rsadecrypt("", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----")`,
    fails('it must be an RSA private key, but it is "EC PRIVATE KEY"'),
  ],
  [
    raw`rsadecrypt("", "-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----")`,
    fails('it is not an RSA private key'),
  ],
  [
    raw`rsadecrypt("", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----")`,
    fails('it must not be protected by a passphrase'),
  ],
  [
    raw`rsadecrypt("", "-----BEGIN RSA PRIVATE KEY-----\n!!\n-----END RSA PRIVATE KEY-----")`,
    fails('it is not valid base64'),
  ],
])

// Verified against bcrypt of the system's C library.
const salt = Uint8Array.from({ length: 16 }, (_, index) => index * 17)
const hashes: readonly (readonly [string, number, string])[] = [
  ['', 4, '$2a$04$./CgKyPTXlcGkYo5xL1s9uTVGtMfiX1h8aaHhqY4IvyvGtzgY7lrq'],
  ['hello wörld', 4, '$2a$04$./CgKyPTXlcGkYo5xL1s9ub/UWSN7VbVRzULJApOy2.ss.Wm9oiya'],
  ['hello wörld', 6, '$2a$06$./CgKyPTXlcGkYo5xL1s9uyhTaamQyKvYX7Oy94Xh4t8SVOYmhJ1u'],
  ['x'.repeat(72), 4, '$2a$04$./CgKyPTXlcGkYo5xL1s9ur4.s8EOGshY8x/e3Gy8wC.0xOiE2wbu'],
]
for (const [password, cost, hash] of hashes)
  test(`bcrypt of ${JSON.stringify(password.slice(0, 12))} with cost ${cost}`, () => {
    assert.equal(bcrypt(password, { cost, salt }), hash)
  })

test('bcrypt draws its salt, so equal passwords have different hashes', () => {
  const draws = Array.from({ length: 32 }, (_, index) => index / 32)
  const result = call('bcrypt("x", 4) == bcrypt("x", 4)', { draws })
  assert.ok(result.ok)
  assert.equal(result.value, false)
})

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 })
const jwk = privateKey.export({ format: 'jwk' })
const pems = {
  'PKCS #1': privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
  'PKCS #8': privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  OpenSSH: openSshPem(jwk),
}

for (const [form, pem] of Object.entries(pems))
  test(`rsadecrypt reads what was encrypted for a key in the form of ${form}`, () => {
    for (const message of ['', 'secret', 'größe'.repeat(10)]) {
      const cipher = publicEncrypt(
        { key: publicKey, padding: constants.RSA_PKCS1_PADDING },
        Buffer.from(message),
      )
      const result = call(`rsadecrypt("${cipher.toString('base64')}", ${JSON.stringify(pem)})`)
      assert.ok(result.ok, JSON.stringify(result))
      assert.equal(result.value, message)
    }
  })

test('rsadecrypt refuses what was encrypted for another key, and texts of a wrong length', () => {
  const pem = JSON.stringify(pems['PKCS #1'])
  const other = generateKeyPairSync('rsa', { modulusLength: 1_024 })
  const cipher = publicEncrypt(
    { key: other.publicKey, padding: constants.RSA_PKCS1_PADDING },
    Buffer.from('x'),
  )
  const wrong = call(`rsadecrypt("${cipher.toString('base64')}", ${pem})`)
  assert.ok(!wrong.ok)
  assert.match(wrong.error[0]?.detail ?? '', /encrypted for this key/)
  const short = call(`rsadecrypt("AAAA", ${pem})`)
  assert.ok(!short.ok)
  assert.match(short.error[0]?.detail ?? '', /must be 128 bytes/)
})

test('a key that is cut off anywhere is refused', () => {
  const [first = '', ...rest] = pems['PKCS #1'].trim().split('\n')
  const body = rest.slice(0, -1).join('')
  for (let length = 0; length < body.length - 4; length += 4) {
    const cut = [first, body.slice(0, length), rest.at(-1)].join('\n')
    assert.ok(!parsePrivateKey(nodeCrypto, cut).ok)
  }
})

/** The `ssh-keygen` format, which `node:crypto` cannot write. */
function openSshPem({ n, e, d, p, q, qi }: JsonWebKey): string {
  const numberField = (value = '') =>
    field(Buffer.concat([Buffer.from([0]), Buffer.from(value, 'base64url')]))
  const check = Buffer.from([1, 2, 3, 4])
  const secret = Buffer.concat([
    check,
    check,
    field('ssh-rsa'),
    ...[n, e, d, qi, p, q].map(numberField),
    field('comment'),
  ])
  const whole = Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    ...['none', 'none', ''].map(field),
    Buffer.from([0, 0, 0, 1]),
    field('public key'),
    field(secret),
  ])
  const label = 'OPENSSH PRIVATE KEY'
  return `-----BEGIN ${label}-----\n${whole.toString('base64')}\n-----END ${label}-----\n`
}

function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(bytes.length)
  return Buffer.concat([length, bytes])
}
