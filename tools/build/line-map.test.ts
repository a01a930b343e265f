import assert from 'node:assert/strict'
import { SourceMap } from 'node:module'
import { test } from 'node:test'
import { toLineMap } from './line-map.ts'

/** Of two sources: line 1 of the bundle has three places, line 2 none, line 3 one, line 4 two. */
const WHOLE = {
  version: 3,
  file: 'bundle.js',
  sources: ['a.ts', 'b.ts'],
  sourcesContent: [],
  sourceRoot: '',
  names: ['run'],
  mappings: 'AAEA,IAAI,SAAAA;;ICgCD,GAjCD',
}

test('a map of lines names the first place of each line, and that for all its columns', () => {
  const whole = new SourceMap(WHOLE)
  const lines = new SourceMap(toLineMap(WHOLE))
  for (const [line, column] of [
    [0, 0],
    [2, 4],
  ] as const) {
    const wanted = whole.findEntry(line, column)
    assert.ok('originalSource' in wanted)
    for (const later of [column, column + 2, column + 100]) {
      const found = lines.findEntry(line, later)
      assert.ok('originalSource' in found)
      assert.equal(found.originalSource, wanted.originalSource)
      assert.equal(found.originalLine, wanted.originalLine)
    }
  }
})

test('a map of lines keeps a line without a place empty', () => {
  assert.equal(toLineMap(WHOLE).mappings.split(';')[1], '')
})

test('a map of lines names distant and earlier places', () => {
  const places = [0, 5000, 3, 123_456, 0].map((line) => ({ line }))
  let last = 0
  const mappings = places
    .map(({ line }) => {
      const step = line - last
      last = line
      return `AA${digits(step)}A`
    })
    .join(';')
  const map = { ...WHOLE, mappings }
  const found = new SourceMap(toLineMap(map))
  for (const [index, { line }] of places.entries())
    assert.deepEqual(found.findEntry(index, 7), { ...found.findEntry(index, 0) }, `line ${line}`)
  assert.equal(toLineMap(map).mappings, mappings)
})

/** As the format writes a number. */
function digits(value: number): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
  const parts = []
  for (let rest = value < 0 ? -value * 2 + 1 : value * 2; ; rest = Math.floor(rest / 32)) {
    if (rest < 32) return [...parts, letters[rest]].join('')
    parts.push(letters[32 + (rest % 32)])
  }
}
