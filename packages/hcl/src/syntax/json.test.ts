import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bodyToValue } from '../decode/decode.ts'
import { createScope } from '../evaluate/scope.ts'
import { formatRange } from '../text/format.ts'
import { toJson } from '../value/value.ts'
import { parseHclJson } from './json.ts'

function run(text: string, options = {}) {
  const parsed = parseHclJson(text, 'f', options)
  if (!parsed.ok) return parsed
  const isDeferred = (root: string) => root === 'env'
  return bodyToValue(parsed.value, { scope: createScope({ variables: { x: 'abc' }, isDeferred }) })
}

const values = [
  {
    name: 'values of every kind',
    text: '{"a": [1, -2.5e1, true, false, null, "s", {}, []]}',
    json: '{"a":[1,-25,true,false,null,"s",{},[]]}',
  },
  {
    name: 'escapes',
    text: String.raw`{"a": "\"\\\/\b\f\n\r\t\u0041\ud83d\ude00"}`,
    json: '{"a":"\\"\\\\/\\b\\f\\n\\r\\tA😀"}',
  },
  {
    name: 'strings are templates',
    text: '{"a": "x${1 + 2}", "b": "${1 + 2}", "c": "%{ if true }y%{ endif }"}',
    json: '{"a":"x3","b":3,"c":"y"}',
  },
  {
    name: 'escapes inside interpolations belong to JSON',
    text: '{"a": "${\\"q\\"}-${x}"}',
    json: '{"a":"q-abc"}',
  },
  { name: 'escaped sequences', text: '{"a": "$${x}"}', json: '{"a":"${x}"}' },
  { name: 'keys are templates in values', text: '{"a": {"${x}": 1}}', json: '{"a":{"abc":1}}' },
  {
    name: 'deferred references stay decoded text',
    text: '{"a": "${env[\\"HOME\\"]}"}',
    json: '{"a":"${env[\\"HOME\\"]}"}',
  },
  {
    name: 'exact whole numbers',
    text: '{"a": 12345678901234567890}',
    json: '{"a":12345678901234567890}',
  },
  {
    name: 'comments in the body only',
    text: '{"//": "c", "a": {"//": 1}}',
    json: '{"a":{"//":1}}',
  },
  { name: 'a list of objects is one body', text: '[{"a": 1}, {"b": 2}]', json: '{"a":1,"b":2}' },
  { name: 'blanks and a byte order mark', text: '\uFEFF \r\n\t{ "a" : 1 } \n', json: '{"a":1}' },
]

for (const c of values)
  test(`parseJson: ${c.name}`, () => {
    const result = run(c.text)
    assert.ok(result.ok, result.ok ? '' : JSON.stringify(result.error))
    assert.equal(toJson(result.value), c.json)
  })

test('parseJson can leave strings alone', () => {
  const result = run('{"a": "${x} %{y"}', { hasTemplates: false })
  assert.ok(result.ok)
  assert.deepEqual(result.value, { a: '${x} %{y' })
})

const errors = [
  { text: '', error: '1,1-1 Invalid JSON value' },
  { text: '5', error: '1,1-2 Object required' },
  { text: '[{}, 1]', error: '1,6-7 Object required' },
  { text: '{} x', error: '1,4-5 Extra characters after JSON value' },
  { text: '{a: 1}', error: '1,2-3 Property name required' },
  { text: '{"a" 1}', error: '1,6-7 Missing separator' },
  { text: '{"a": 1 "b": 2}', error: '1,9-10 Missing separator' },
  { text: '{"a": [1 2]}', error: '1,10-11 Missing separator' },
  { text: '{"a": 1,}', error: '1,9-10 Property name required' },
  { text: '{"a": [1,]}', error: '1,10-11 Invalid JSON value' },
  { text: '{"a": 01}', error: '1,8-9 Missing separator' },
  { text: '{"a": tru}', error: '1,7-8 Invalid JSON value' },
  { text: '{"a": 1e400}', error: '1,7-12 Number out of range' },
  { text: '{"a": "b', error: '1,7-8 Unterminated string' },
  { text: '{"a": "b\nc"}', error: '1,9-2,1 Invalid character in string' },
  { text: '{"a": "\\x"}', error: '1,8-9 Invalid escape sequence' },
  { text: '{"a": 1, "a": 2}', error: '1,10-13 Attribute redefined' },
  { text: '{"a": {"b": 1, "b": 2}}', error: '1,16-19 Duplicate object key' },
  { text: '{"a": "${1 +}"}', error: '1,13-14 Invalid expression' },
  { text: '{"a": "é😀${x.y}"}', error: '1,13-15 Unsupported attribute' },
  { text: '{"a": "\\u0041\\n${x.y}"}', error: '1,19-21 Unsupported attribute' },
]

for (const c of errors)
  test(`parseJson refuses ${JSON.stringify(c.text)}`, () => {
    const result = run(c.text)
    assert.ok(!result.ok)
    const found = result.error.map((one) => `${formatRange(one.range).slice(2)} ${one.summary}`)
    assert.deepEqual(found, [c.error])
  })

test('parseJson reads what JSON writes', () => {
  const key = fc.string().filter((name) => name !== '//' && name !== '__proto__')
  const object = fc.dictionary(key, fc.jsonValue({ stringUnit: 'grapheme' }), {
    noNullPrototype: true,
  })
  fc.assert(
    fc.property(object, (value) => {
      const result = run(JSON.stringify(value), { hasTemplates: false })
      assert.ok(result.ok)
      assert.deepEqual(JSON.parse(toJson(result.value)), JSON.parse(JSON.stringify(value)))
    }),
  )
})
