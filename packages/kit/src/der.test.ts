import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { integerOf, isWellFormed, sequenceItems, oidOf, readDer, readSingleDer } from './der.ts'

test('der: a sequence contains its items', () => {
  const item = readSingleDer(Uint8Array.of(0x30, 6, 2, 1, 5, 2, 1, 0xff))
  assert.deepEqual(sequenceItems(item).map(integerOf), [5n, -1n])
})

test('der: an object identifier is formatted with dots', () => {
  const oid = Uint8Array.of(6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1)
  assert.equal(oidOf(readSingleDer(oid)), '1.2.840.113549.1.1.1')
})

const CUT = [[0x30], [0x30, 5, 2], [0x30, 0x80], [0x30, 0x85, 1, 1, 1, 1, 1], [0x1f, 1, 0]]
for (const bytes of CUT)
  test(`der: ${bytes.join(' ')} is invalid`, () => {
    assert.equal(readDer(Uint8Array.from(bytes)), undefined)
  })

test('der: the reader never throws', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      for (const item of readDer(bytes) ?? []) isWellFormed(item)
    }),
  )
})
