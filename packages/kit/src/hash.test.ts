import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeHex } from './bytes.ts'
import { encodeUtf8 } from './utf8.ts'
import { MD5, SHA1, SHA256, SHA384, SHA512, blake2b256 } from './hash.ts'

const hashes = {
  md5: MD5.digest,
  sha1: SHA1.digest,
  sha256: SHA256.digest,
  sha384: SHA384.digest,
  sha512: SHA512.digest,
}

// RFC 1321, section A.5; FIPS 180-4 examples.
const vectors: readonly (readonly [keyof typeof hashes, string, string])[] = [
  ['md5', '', 'd41d8cd98f00b204e9800998ecf8427e'],
  ['md5', 'message digest', 'f96b697d7cb7938d525a2f31aaf161d0'],
  ['sha1', 'abc', 'a9993e364706816aba3e25717850c26c9cd0d89d'],
  ['sha256', '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
  ['sha256', 'abc', 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad'],
  [
    'sha512',
    'abc',
    'ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f',
  ],
]

for (const [name, text, digest] of vectors)
  test(`${name}: the digest of ${JSON.stringify(text)}`, () => {
    assert.equal(encodeHex(hashes[name](encodeUtf8(text))), digest)
  })

for (const name of ['md5', 'sha1', 'sha256', 'sha384', 'sha512'] as const) {
  test(`${name}: equals the system digest at every length around the block size`, () => {
    for (let length = 0; length < 300; length++) {
      const bytes = Uint8Array.from({ length }, (_, index) => index * 7 + length)
      assert.equal(encodeHex(hashes[name](bytes)), createHash(name).update(bytes).digest('hex'))
    }
  })

  test(`${name}: equals the system digest for a part of a larger buffer`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.nat(20), (bytes, from) => {
        const part = bytes.subarray(from)
        assert.equal(encodeHex(hashes[name](part)), createHash(name).update(part).digest('hex'))
      }),
    )
  })
}

/** Published digests of short texts, then texts around the block size of 128 bytes. */
const cases: readonly { name: string; text: string; hex: string }[] = [
  {
    name: 'the empty text',
    text: '',
    hex: '0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8',
  },
  {
    name: 'abc',
    text: 'abc',
    hex: 'bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319',
  },
  {
    name: 'the quick brown fox',
    text: 'The quick brown fox jumps over the lazy dog',
    hex: '01718cec35cd3d796dd00020e0bfecb473ad23457d063b75eff29c0ffa2e58a9',
  },
  {
    name: 'one byte less than a block',
    text: 'a'.repeat(127),
    hex: '59e2f1aba240f20aa591016f5ef429990bc9c2131dcd0d30f0ffd75ed18f317d',
  },
  {
    name: 'exactly a block',
    text: 'a'.repeat(128),
    hex: 'ae2aa48507885c4c950fb809b2076f959cde9f8ea6da260d9a3587df33dac450',
  },
  {
    name: 'one byte more than a block',
    text: 'a'.repeat(129),
    hex: '2f64744a6de0d2c0b56e64cf6e29a5aaa255010d415d51c75ccc82f73dccd865',
  },
  {
    name: 'characters of several bytes',
    text: 'é😀'.repeat(100),
    hex: 'b95381afce750b3a76687dbe60f6b13daccec218b30e6c48e0cb12662154392f',
  },
]
for (const c of cases)
  test(`blake2b: ${c.name}`, () => {
    assert.equal(blake2b256(c.text), Buffer.from(c.hex, 'hex').toString('base64'))
  })
