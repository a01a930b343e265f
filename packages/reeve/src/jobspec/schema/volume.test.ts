import assert from 'node:assert/strict'
import { test } from 'node:test'
import { byteSize } from './volume.ts'

for (const [text, bytes] of [
  ['4096', 4096],
  ['0', 0],
  ['10B', 10],
  ['10GiB', 10 * 1024 ** 3],
  ['10 GiB', 10 * 1024 ** 3],
  ['500MB', 500_000_000],
  ['500m', 500_000_000],
  ['1.5KiB', 1536],
  ['1.5', undefined],
  ['1.5B', undefined],
  ['-1', undefined],
  ['10iB', undefined],
  ['10 parsecs', undefined],
  ['', undefined],
  ['9PB', 9 * 10 ** 15],
  ['9PiB', undefined],
] as const)
  test(`byteSize: "${text}" is ${bytes ?? 'no size'}`, () => assert.equal(byteSize(text), bytes))
