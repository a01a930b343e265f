import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { call, fails, literal, testCalls } from '../../../test/build/function-cases.ts'
import { parseJsonText, toJsonString } from './encoding.ts'

const { raw } = String

testCalls([
  ['base64encode("Hello, wörld")', '"SGVsbG8sIHfDtnJsZA=="'],
  ['base64encode("")', '""'],
  ['base64decode("SGVsbG8sIHfDtnJsZA==")', '"Hello, wörld"'],
  ['base64decode("")', '""'],
  ['base64decode("SGVsbG8")', fails('str is not valid base64')],
  ['base64decode("####")', fails('str is not valid base64')],
  ['base64decode("/w==")', fails('str holds bytes that are not UTF-8 text')],

  ['urlencode("Hello World!")', '"Hello+World%21"'],
  ['urlencode("☃")', '"%E2%98%83"'],
  ['urlencode("a-b_c.d~e/f?g=h&i")', '"a-b_c.d~e%2Ff%3Fg%3Dh%26i"'],
  [`urlencode("'()*+")`, '"%27%28%29%2A%2B"'],

  ['jsonencode({b = [1, 2.5, true, null], a = "x"})', raw`"{\"a\":\"x\",\"b\":[1,2.5,true,null]}"`],
  ['jsonencode("<a & b>")', raw`"\"\\u003ca \\u0026 b\\u003e\""`],
  ['jsonencode(null)', '"null"'],
  ['jsonencode(12345678901234567890)', '"12345678901234567890"'],
  [raw`jsonencode("a\n\"\\")`, raw`"\"a\\n\\\"\\\\\""`],
  ['jsonencode([])', '"[]"'],

  [
    raw`jsondecode("{\"a\": [1, -2.5e3, true, null, \"x\\u00e9\"]}")`,
    '{"a":[1,-2500,true,null,"xé"]}',
  ],
  ['jsondecode("12345678901234567890")', '12345678901234567890'],
  [raw`jsondecode(" \n\t[ ] ")`, '[]'],
  [raw`jsondecode("{\"a\":1,\"a\":2}")`, '{"a":2}'],
  [raw`jsondecode("{\"__proto__\":1}")`, '{"__proto__":1}'],
  ['jsondecode("")', fails('at offset 0 a value is expected')],
  ['jsondecode("[1,]")', fails('at offset 3 a value is expected')],
  ['jsondecode("[1 2]")', fails('at offset 3 "," or "]" is expected')],
  ['jsondecode("{a:1}")', fails('at offset 1 a name in double quotes is expected')],
  [raw`jsondecode("{\"a\" 1}")`, fails('at offset 5 ":" is expected')],
  ['jsondecode("01")', fails('at offset 1 the end of the text is expected')],
  ['jsondecode("nul")', fails('at offset 0 a value is expected')],
  [raw`jsondecode("\"abc")`, fails('the closing quote of this string')],
  [raw`jsondecode("\"\\x\"")`, fails('a string with valid escapes')],
  ['jsondecode("1e999")', fails('a number is out of range')],

  [raw`csvdecode("a,b\n1,2\n3,4\n")`, '[{"a":"1","b":"2"},{"a":"3","b":"4"}]'],
  [raw`csvdecode("a,b\r\n1,\"x, \"\"y\"\"\r\nz\"")`, raw`[{"a":"1","b":"x, \"y\"\nz"}]`],
  [raw`csvdecode("a\n\n1\n\n")`, '[{"a":"1"}]'],
  [raw`csvdecode("a,b\n,")`, '[{"a":"","b":""}]'],
  ['csvdecode("a,b")', '[]'],
  ['csvdecode("")', fails('the first line with the names of the columns is missing')],
  [raw`csvdecode("a,a\n1,2")`, fails('the column "a" is named twice')],
  [raw`csvdecode("a,b\n1")`, fails('line 2 has 1 fields instead of 2')],
  [raw`csvdecode("a\n\"x\ny\"\n1,2")`, fails('line 4 has 2 fields instead of 1')],
  [raw`csvdecode("a\nx\"y")`, fails('line 2 has a quote in a field that is not quoted')],
  [raw`csvdecode("a\n\"x")`, fails('line 2 has a quoted field without its closing quote')],
  [raw`csvdecode("a\n\"x\"y")`, fails('line 2 has text after the closing quote')],

  [raw`yamldecode("a: 1\nb:\n  - x\n  - true\n  - ~\n")`, '{"a":1,"b":["x",true,null]}'],
  [raw`yamldecode("{a: [1, 2]}")`, '{"a":[1,2]}'],
  ['yamldecode("")', 'null'],
  [raw`yamldecode("a: &x [1]\nb: *x")`, '{"a":[1],"b":[1]}'],
  [raw`yamldecode("a: b: c")`, fails('src is not valid YAML: line 1, column 4')],
  [raw`yamldecode("---\na\n---\nb")`, fails('there is more than one document')],
  ['yamldecode(".inf")', fails('.inf is not a finite number')],

  ['yamlencode({b = [1, "x"], a = true})', raw`"\"a\": true\n\"b\":\n- 1\n- \"x\"\n"`],
  ['yamlencode({})', raw`"{}\n"`],
  ['yamlencode("a")', raw`"\"a\"\n"`],
  [raw`yamlencode({a = "x\ny\n"})`, raw`"\"a\": |\n  x\n  y\n"`],
])

test('deeply nested texts are refused, not followed', () => {
  for (const source of [
    `jsondecode("${'['.repeat(5_000)}")`,
    `yamldecode("${'['.repeat(5_000)}")`,
  ]) {
    const result = call(source)
    assert.ok(!result.ok)
    assert.match(result.error[0]?.detail ?? '', /nested more than 200 levels/)
  }
})

// Through JSON and back, because JSON has no negative zero.
const jsonValue = fc.jsonValue().map((value): unknown => JSON.parse(JSON.stringify(value)))

test('JSON text reads back as the value it was made from', () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      const read = parseJsonText(JSON.stringify(value))
      assert.ok(read.ok)
      assert.deepEqual(JSON.parse(toJsonString(read.value)), value)
    }),
  )
})

test('any text is read as JSON or refused, as the host reads it', () => {
  const pieces = fc.constantFrom(
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '"',
    '\\',
    'a',
    '1',
    '-',
    '.',
    'e',
    ' ',
    'true',
    'null',
    '"a"',
  )
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 12 }), (parts) => {
      const text = parts.join('')
      assert.equal(parseJsonText(text).ok, isJson(text), text)
    }),
    { numRuns: 1_000 },
  )
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('base64 and YAML of any text read back as the text', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), (text) => {
      const source = literal(text)
      const result = call(
        `[base64decode(base64encode(${source})), yamldecode(yamlencode(${source})), jsondecode(jsonencode(${source}))]`,
      )
      assert.ok(result.ok, JSON.stringify(result))
      assert.deepEqual(result.value, [text, text, text])
    }),
  )
})
