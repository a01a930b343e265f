import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readNativeCases } from '../../test/native-cases.ts'
import { formatNative } from './format.ts'

const CASES: readonly (readonly [name: string, text: string, formatted: string])[] = [
  ['spaces stand around operators', 'a=1+2*-3', 'a = 1 + 2 * -3\n'],
  ['no spaces inside brackets', 'a = [ 1,2 ][ 0 : 1 ]', 'a = [1, 2][0:1]\n'],
  ['a call is close to its name', 'f ( a , b ) . c [ 0 ]', 'f(a, b).c[0]\n'],
  [
    'a map is close, a block is not',
    'm={ "a":1 }\nr=rule{ m.a is 1 }',
    'm = {"a": 1}\nr = rule { m.a is 1 }\n',
  ],
  ['an empty map is close', 'm = { }', 'm = {}\n'],
  [
    'blocks are indented',
    'if a {\nb = 1\n}\nelse {\nb = 2\n}',
    'if a {\n  b = 1\n}\nelse {\n  b = 2\n}\n',
  ],
  [
    'clauses are indented once, their statements twice',
    'case x {\nwhen 1,2:\ny = 1\nelse:\ny = 2\n}',
    'case x {\n  when 1, 2:\n    y = 1\n  else:\n    y = 2\n}\n',
  ],
  ['brackets of one line are one level', 'a = f({\n"x": 1,\n})', 'a = f({\n  "x": 1,\n})\n'],
  ['a continued line is indented', 'main = a and\nb', 'main = a and\n  b\n'],
  ['a dot continues a line', 'x = a\n.b', 'x = a\n  .b\n'],
  [
    'comments stay where they are',
    '# top\n\n\na = 1# end\n/* b */ b = 2',
    '# top\n\na = 1 # end\n/* b */ b = 2\n',
  ],
  ['blank lines are at most one', '\n\na = 1\n\n\n\nb = 2\n\n', 'a = 1\n\nb = 2\n'],
  ['no blank line begins or ends a block', 'if a {\n\nb = 1\n\n}', 'if a {\n  b = 1\n}\n'],
  ['raw texts are left alone', 'a  =  `x\n   y`', 'a = `x\n   y`\n'],
  ['signs are close', 'a = - 1\nb = ! c\nd = 1 - 2', 'a = -1\nb = !c\nd = 1 - 2\n'],
  ['a list after a word operator', 'a = x in[1]', 'a = x in [1]\n'],
  ['carriage returns go', 'a = 1\r\nb = 2\r\n', 'a = 1\nb = 2\n'],
]

for (const [name, text, formatted] of CASES)
  test(`format: ${name}`, () => {
    const found = formatNative('p.native', text)
    assert.deepEqual(found, { ok: true, value: formatted })
  })

test('format: what is formatted stays as it is, for every case of the language', () => {
  for (const { text } of readNativeCases()) {
    const once = formatNative('p.native', text)
    if (!once.ok) continue
    assert.deepEqual(formatNative('p.native', once.value), once, text)
  }
})

test('format: a text that cannot be read is refused with its place', () => {
  const found = formatNative('p.native', 'a = 1\nb = "x')
  assert.ok(!found.ok)
  assert.equal(found.error.position.line, 2)
})
