import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseYaml } from './parse.ts'
import type { YamlValue } from './read-node.ts'
import { writeYaml } from './write.ts'

const cases: readonly (readonly [YamlValue, string])[] = [
  [null, 'null\n'],
  [true, 'true\n'],
  [1.5, '1.5\n'],
  [12345678901234567890n, '12345678901234567890\n'],
  ['', '""\n'],
  ['yes', '"yes"\n'],
  [[], '[]\n'],
  [{}, '{}\n'],
  [['a', 1], '- "a"\n- 1\n'],
  [[['a'], []], '- - "a"\n- []\n'],
  [{ b: 1, a: { c: [1, { d: null }] } }, '"a":\n  "c":\n  - 1\n  - "d": null\n"b": 1\n'],
  [[{ a: 1, b: [2] }], '- "a": 1\n  "b":\n  - 2\n'],
  [{ a: 'x\ny' }, '"a": |-\n  x\n  y\n'],
  [{ a: 'x\n\n' }, '"a": |+\n  x\n\n'],
  [['  x\ny\n'], '- |2\n    x\n  y\n'],
  ['x\ny\n', '|\n  x\n  y\n'],
  ['\n\n', '"\\n\\n"\n'],
  ['a\r\nb', '"a\\r\\nb"\n'],
  ['\x7f\u2028', '"\\u007f\\u2028"\n'],
]

for (const [value, text] of cases)
  test(`writeYaml writes ${JSON.stringify(text)}`, () => {
    assert.equal(writeYaml(value), text)
    assert.deepEqual(parseYaml(text), { ok: true, value })
  })

test('writeYaml: a long key is written as an explicit key', () => {
  const value = { ['k'.repeat(2_000)]: { a: ['x'] }, b: 'y\nz\n' }
  const text = writeYaml(value)
  assert.ok(text.includes('? "kkk'))
  assert.deepEqual(parseYaml(text), { ok: true, value })
})

const line = fc.oneof(
  fc.string(),
  fc.constantFrom('', ' ', '  x', '\t', '- a', '# c', 'a: b', '...', '---', '\u0085', '😀'),
)
const text = fc.array(line, { maxLength: 4 }).map((lines) => lines.join('\n'))
const { value: anyValue } = fc.letrec<{ value: YamlValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.oneof(
      text,
      fc.string({ unit: 'binary' }),
      fc.maxSafeInteger(),
      fc.boolean(),
      fc.constant(null),
    ),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(text, tie('value'), { maxKeys: 4, noNullPrototype: true }),
  ),
}))

test('writeYaml: parsing returns the written value', () => {
  fc.assert(
    fc.property(anyValue, (value) => {
      const written = writeYaml(value)
      const read = parseYaml(written)
      assert.ok(read.ok, read.ok ? '' : `${read.error}\n${written}`)
      assert.deepEqual(read.value, value)
    }),
    { numRuns: 500 },
  )
})
