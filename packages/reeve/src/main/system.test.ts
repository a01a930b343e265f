import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readTextUpTo } from './system.ts'

const bytes = Buffer.from('grün und blau')

test('textUpTo: joins characters that are split between chunks', async () => {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield bytes.subarray(0, 3)
    yield bytes.subarray(3)
  }
  assert.equal(await readTextUpTo(chunks(), 100), 'grün und blau')
})

test('textUpTo: stops reading at the limit', async () => {
  let read = 0
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (; read < 100; read += 1) yield bytes
  }
  assert.equal(await readTextUpTo(chunks(), 15), 'grün und blaugr')
  assert.equal(read, 1)
})

test('textUpTo: an interrupted stream is kept as far as it was received', async () => {
  async function* chunks(): AsyncGenerator<Uint8Array> {
    yield bytes
    throw new Error('connection reset')
  }
  assert.equal(await readTextUpTo(chunks(), 100), 'grün und blau')
})
