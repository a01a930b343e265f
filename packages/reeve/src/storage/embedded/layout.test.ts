import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { joinChunks } from '@reeve/kit/string-chunks.ts'
import * as layout from './layout.ts'
import { escapeText } from './text-escape.ts'

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
    ...Object.values(layout.metaKeys).toSorted(),
    layout.rowKey('', ''),
    layout.rowKey('\uffff', '\uffff'),
  ]
  assert.deepEqual(
    keys.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    keys,
  )
})

test('a value is refused under another key, and with any character changed', () => {
  const sealed = layout.seal('k', 'some text')
  assert.equal(layout.unseal('k', sealed), 'some text')
  assert.throws(() => layout.unseal('j', sealed), layout.UnreadableValue)
  for (let at = 0; at < sealed.length; at++) {
    const changed = `${sealed.slice(0, at)}~${sealed.slice(at + 1)}`
    assert.throws(() => layout.unseal('k', changed), layout.UnreadableValue)
  }
  assert.throws(() => layout.unseal('k', ''), layout.UnreadableValue)
})

test('a blob is refused when it is cut short or changed', () => {
  const value = layout.toBlobValue('b', Uint8Array.of(1, 2, 3))
  assert.deepEqual([...layout.fromBlobValue('b', value)], [1, 2, 3])
  assert.throws(() => layout.fromBlobValue('b', value.subarray(1)), layout.UnreadableValue)
  assert.throws(() => layout.fromBlobValue('b', Uint8Array.of(1)), layout.UnreadableValue)
  assert.throws(() => layout.fromBlobValue('c', value), layout.UnreadableValue)
})

test('the value of a row is its sealed text, whatever that holds, and is found sound', () => {
  const anyUnits = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 30 })
  const anyText = fc.oneof(
    anyUnits.map((units) => String.fromCharCode(...units)),
    fc.string(),
  )
  fc.assert(
    fc.property(fc.string(), fc.oneof(anyText, fc.array(anyText)), (key, text) => {
      const value = layout.toRowValue(key, text)
      assert.equal(Buffer.from(value).toString(), layout.seal(key, escapeText(joinChunks(text))))
      assert.doesNotThrow(() => layout.assertRowValue(key, value))
    }),
  )
})
