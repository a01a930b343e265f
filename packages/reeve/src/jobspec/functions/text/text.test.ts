import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { call, fails, literal, testCalls } from '../../../../test/build/function-cases.ts'

const { raw } = String

testCalls([
  [raw`chomp("hello\n")`, '"hello"'],
  [raw`chomp("hello\r\n")`, '"hello"'],
  [raw`chomp("hello\n\n\r\n")`, '"hello"'],
  [raw`chomp("a\nb")`, raw`"a\nb"`],
  ['chomp("")', '""'],

  ['endswith("web.service", ".service")', 'true'],
  ['endswith("web", "")', 'true'],
  ['endswith("web", "x")', 'false'],
  ['startswith("web.service", "web")', 'true'],
  ['startswith("a", "abc")', 'false'],
  ['strcontains("hello", "ell")', 'true'],
  ['strcontains("hello", "elx")', 'false'],

  [raw`indent(2, "a\nb\n\nc")`, raw`"a\n  b\n  \n  c"`],
  ['indent(4, "one line")', '"one line"'],
  [raw`indent(0, "a\nb")`, raw`"a\nb"`],
  ['indent(-1, "a")', fails('spaces must be a whole number from 0 to 1000')],
  ['indent(1.5, "a")', fails('spaces must be a whole number from 0 to 1000')],
  [raw`indent(1000000, "a\nb")`, fails('spaces must be a whole number from 0 to 1000')],

  ['join(", ", ["a", "b", "c"])', '"a, b, c"'],
  ['join("-", ["a"], ["b", "c"])', '"a-b-c"'],
  ['join(",", [])', '""'],
  ['join(",", [1, true, "x"])', '"1,true,x"'],
  ['join(",")', fails('it takes at least 2 argument(s)')],
  ['join(",", ["a", null])', fails('lists must not have null as element 1')],
  ['join(",", "a")', fails('a list of string is required')],
  ['join(",", [["a"]])', fails('element 0: a string is required')],

  ['lower("HELLO")', '"hello"'],
  ['lower("АЛЛО!")', '"алло!"'],
  ['lower("İΑΣ")', '"iασ"'],
  ['upper("hello")', '"HELLO"'],
  ['upper("straße ñ")', '"STRAßE Ñ"'],
  ['upper(true)', '"TRUE"'],

  ['replace("1 + 2 + 3", "+", "-")', '"1 - 2 - 3"'],
  ['replace("aaa", "a", "")', '""'],
  ['replace("a.b", ".", "$1")', '"a$1b"'],
  ['replace("/a/b/", "/", ".")', '".a.b."'],
  ['replace("ab", "", "-")', '"-a-b-"'],
  ['replace("", "", "x")', '"x"'],
  ['replace("abc", "x", "y")', '"abc"'],

  ['split(",", "foo,bar,baz")', '["foo","bar","baz"]'],
  ['split(",", "foo")', '["foo"]'],
  ['split(",", "")', '[""]'],
  ['split("", "aé😀")', '["a","é","😀"]'],
  ['split("", "")', '[]'],
  ['split(", ", "a, b,c")', '["a","b,c"]'],

  ['strlen("hello")', '5'],
  ['strlen("")', '0'],
  [raw`strlen("👨‍👩‍👧e\u0301")`, '2'],
  [raw`strlen("a\r\nb")`, '3'],
  ['strlen(100)', '3'],

  ['strrev("hello")', '"olleh"'],
  [raw`strrev("ae\u0301") == "e\u0301a"`, 'true'],
  ['strrev("☃👨‍👩‍👧")', '"👨‍👩‍👧☃"'],
  ['strrev(["a"])', fails('a string is required')],

  ['substr("hello world", 1, 4)', '"ello"'],
  ['substr("hello world", 6, -1)', '"world"'],
  ['substr("hello world", -5, -1)', '"world"'],
  ['substr("hello world", -5, 3)', '"wor"'],
  ['substr("hello", 2, 0)', '""'],
  ['substr("hello", 9, 2)', '""'],
  ['substr("hello", 3, 99)', '"lo"'],
  ['substr("hello", -9, 2)', '"he"'],
  ['substr("🤔🤷x", 1, 1)', '"🤷"'],
  ['substr("hello", 0.5, 1)', fails('offset must be a whole number')],

  ['title("hello world")', '"Hello World"'],
  ['title("it\'s a-b_c 1st éa")', '"It\'S A-B_c 1st Éa"'],
  ['title("")', '""'],

  ['trim("?!hello?!", "!?")', '"hello"'],
  ['trim("foobar", "far")', '"oob"'],
  ['trim("  x  ", " ")', '"x"'],
  ['trim("aaa", "a")', '""'],
  ['trim("😀x😀", "😀")', '"x"'],
  ['trim("x", "")', '"x"'],
  ['trimprefix("helloworld", "hello")', '"world"'],
  ['trimprefix("helloworld", "cat")', '"helloworld"'],
  ['trimprefix("--x", "-")', '"-x"'],
  ['trimsuffix("helloworld", "world")', '"hello"'],
  ['trimsuffix("x", "")', '"x"'],
  [raw`trimspace("  hello\n\n")`, '"hello"'],
  [raw`trimspace("\u00a0\u2003 x\u0085\t")`, '"x"'],
  ['trimspace("a b")', '"a b"'],
])

test('trimming a text of nothing but blanks takes linear time', () => {
  const blanks = ' '.repeat(200_000)
  const result = call(`trimspace("${blanks}x${blanks}")`)
  assert.ok(result.ok)
  assert.equal(result.value, 'x')
})

test('texts that grow beyond the limit are refused before they are made', () => {
  const long = 'a'.repeat(3_000)
  for (const source of [
    `replace("${long}", "a", "${long}")`,
    `join("${long}", split("", "${long}"))`,
    `replace("${long}", "", "${long}")`,
  ]) {
    const result = call(source)
    assert.ok(!result.ok)
    assert.match(result.error[0]?.detail ?? '', /longer than 4194304 characters/)
  }
})

const hclText = fc.string({ unit: 'grapheme' }).map(literal)

test('reversing twice gives the text back', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      const source = literal(text)
      const result = call(`strrev(strrev(${source})) == ${source}`)
      assert.ok(result.ok)
      assert.equal(result.value, true)
    }),
  )
})

test('split and join are inverse', () => {
  fc.assert(
    fc.property(hclText, fc.constantFrom(',', 'ab', '😀', ''), (text, separator) => {
      const result = call(`join("${separator}", split("${separator}", ${text})) == ${text}`)
      assert.ok(result.ok)
      assert.equal(result.value, true)
    }),
  )
})
