import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatBytes, formatMegabytes } from './format.ts'

const CASES = [
  [0, '0 B'],
  [640, '640 B'],
  [1_536, '1.5 KiB'],
  [1_048_576, '1 MiB'],
  [209_715_200, '200 MiB'],
  [12_884_901_888, '12 GiB'],
  [-1, '0 B'],
] as const

for (const [bytes, text] of CASES)
  test(`${bytes} bytes are written ${text}`, () => assert.equal(formatBytes(bytes), text))

test('megabytes become the unit that fits', () => assert.equal(formatMegabytes(2_048), '2 GiB'))
