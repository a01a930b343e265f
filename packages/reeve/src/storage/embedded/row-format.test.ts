import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import * as layout from './row-format.ts'
import { escapeText } from '../text-escape.ts'

test('log keys sort as their indexes do', () => {
  const indexes = [1, 2, 9, 10, 99, 100, 4_294_967_296, Number.MAX_SAFE_INTEGER]
  const keys = indexes.map(layout.logKey)
  assert.deepEqual(keys.toSorted(), keys)
  assert.deepEqual(keys.map(layout.logIndexOf), indexes)
})

test('the ranges of blobs, log, meta and rows do not meet', () => {
  const keys = [
    layout.blobKey('\uffff'),
    layout.logKey(1),
    layout.logKey(Number.MAX_SAFE_INTEGER),
    ...Object.values(layout.METADATA_KEYS).toSorted(),
    layout.rowKey('', ''),
    layout.rowKey('\uffff', '\uffff'),
  ]
  assert.deepEqual(
    keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    keys,
  )
})

test('a value is refused under another key, and with any character changed', () => {
  const sealed = layout.addChecksum('k', 'some text')
  assert.equal(layout.stripChecksum('k', sealed), 'some text')
  assert.throws(() => layout.stripChecksum('j', sealed), layout.ChecksumError)
  for (let at = 0; at < sealed.length; at++) {
    const changed = `${sealed.slice(0, at)}~${sealed.slice(at + 1)}`
    assert.throws(() => layout.stripChecksum('k', changed), layout.ChecksumError)
  }
  assert.throws(() => layout.stripChecksum('k', ''), layout.ChecksumError)
})

test('a blob is refused when it is cut short or changed', () => {
  const value = layout.encodeBlobValue('b', Uint8Array.of(1, 2, 3))
  assert.deepEqual([...layout.decodeBlobValue('b', value)], [1, 2, 3])
  assert.throws(() => layout.decodeBlobValue('b', value.subarray(1)), layout.ChecksumError)
  assert.throws(() => layout.decodeBlobValue('b', Uint8Array.of(1)), layout.ChecksumError)
  assert.throws(() => layout.decodeBlobValue('c', value), layout.ChecksumError)
})

test('the value of a row is its sealed text, whatever that holds, and is found sound', () => {
  const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 30 })
  const anyText = fc.oneof(
    anyUnits.map((units) => String.fromCharCode(...units)),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.string(), fc.oneof(anyText, fc.array(anyText)), (key, text) => {
      const value = layout.encodeRowValue(key, text)
      assert.equal(
        Buffer.from(value).toString(),
        layout.addChecksum(key, escapeText(joinChunks(text))),
      )
      assert.doesNotThrow(() => layout.assertRowValue(key, value))
    }),
  )
})
