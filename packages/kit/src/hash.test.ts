import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { encodeHex } from './hex.ts'
import { encodeUtf8 } from './utf8.ts'
import { MD5, SHA1, SHA256, SHA384, SHA512 } from './hash.ts'

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
  test(`${name}: the same digest as the system, at every length around the block`, () => {
    for (let length = 0; length < 300; length++) {
      const bytes = Uint8Array.from({ length }, (_, index) => index * 7 + length)
      assert.equal(encodeHex(hashes[name](bytes)), createHash(name).update(bytes).digest('hex'))
    }
  })

  test(`${name}: the same digest as the system, for a part of a larger buffer`, () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 500 }), fc.nat(20), (bytes, from) => {
        const part = bytes.subarray(from)
        assert.equal(encodeHex(hashes[name](part)), createHash(name).update(part).digest('hex'))
      }),
    )
  })
}
