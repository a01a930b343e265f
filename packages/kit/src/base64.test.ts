import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { decodeBase64, decodeBase64Url, encodeBase64, encodeBase64Url, isBase64 } from './base64.ts'
import { encodeUtf8 } from './utf8.ts'

// RFC 4648, section 10.
const cases: readonly [string, string][] = [
  ['', ''],
  ['f', 'Zg=='],
  ['fo', 'Zm8='],
  ['foo', 'Zm9v'],
  ['foob', 'Zm9vYg=='],
  ['fooba', 'Zm9vYmE='],
  ['foobar', 'Zm9vYmFy'],
]
for (const [text, encoded] of cases)
  test(`base64: ${JSON.stringify(text)} is ${JSON.stringify(encoded)}`, () => {
    assert.equal(encodeBase64(encodeUtf8(text)), encoded)
  })

test('base64: equals the system encoder', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.equal(encodeBase64(bytes), Buffer.from(bytes).toString('base64'))
    }),
  )
})

for (const [text, encoded] of cases)
  test(`base64: ${JSON.stringify(encoded)} is read as ${JSON.stringify(text)}`, () => {
    assert.deepEqual(decodeBase64(encoded), new Uint8Array(encodeUtf8(text)))
  })

const broken = ['Zg', 'Zg=', 'Z===', '====', 'Zg==Zg==', 'Zm9v!mFy', 'Zm-_', 'Zm9 ']
for (const text of broken)
  test(`base64: ${JSON.stringify(text)} is not read`, () => {
    assert.equal(decodeBase64(text), undefined)
  })

test('base64: line breaks between characters are ignored', () => {
  assert.deepEqual(decodeBase64('Zm9v\r\nYmFy\n'), new Uint8Array(encodeUtf8('foobar')))
})

test('base64: decoding reverses encoding', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.deepEqual(decodeBase64(encodeBase64(bytes)), bytes)
    }),
  )
})

const isIt = [
  ['', true],
  ['YQ==', true],
  ['YWI=', true],
  ['YWJj', true],
  ['YQ=', false],
  ['YQ', false],
  ['Y===', false],
  ['YQ==YQ==', false],
  ['YW\nJj', false],
  ['YW-_', false],
  ['A'.repeat(4_000_000), true],
] as const
for (const [text, wanted] of isIt)
  test(`base64: ${JSON.stringify(text.slice(0, 10))} is ${wanted ? 'it' : 'none'}`, () =>
    assert.equal(isBase64(text), wanted))

test('base64: unused trailing bits may be set, as in Go', () => {
  assert.deepEqual(decodeBase64('Zh=='), new Uint8Array(encodeUtf8('f')))
})

for (const text of ['Zg==', 'Zm+v', 'Zm/v', 'Z', 'Zm9vY', 'Zm 9', 'Zm9v\n'])
  test(`base64url: ${JSON.stringify(text)} is not read`, () => {
    assert.equal(decodeBase64Url(text), undefined)
  })

test('base64url: equals the system encoder, and decodes back', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      assert.equal(encodeBase64Url(bytes), Buffer.from(bytes).toString('base64url'))
      assert.deepEqual(decodeBase64Url(encodeBase64Url(bytes)), bytes)
    }),
  )
})

test('base64: invalid text gives undefined and never throws', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'AZaz09+/=-_\n ') }), (text) => {
      const wanted = isBase64(text.replaceAll('\n', ''))
      assert.equal(decodeBase64(text) !== undefined, wanted)
      decodeBase64Url(text)
    }),
  )
})
