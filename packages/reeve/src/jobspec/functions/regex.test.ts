import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call, fails, testCalls } from '../../../test/build/function-cases.ts'

const { raw } = String

testCalls([
  ['regex("[a-z]+", "53453453.345345aaabbbccc23454")', '"aaabbbccc"'],
  [raw`regex("(\\d+)-(\\d+)", "tel 12-345")`, '["12","345"]'],
  [
    raw`regex("^(?P<scheme>[^:]+)://(?P<host>.+)$", "https://example.com")`,
    '{"scheme":"https","host":"example.com"}',
  ],
  ['regex("(a)|(b)", "b")', '[null,"b"]'],
  ['regex("", "abc")', '""'],
  ['regex("x", "abc")', fails('string does not match pattern')],
  ['regex("(a", "a")', fails('pattern is not valid')],
  ['regex("(?P<x>a)(b)", "ab")', fails('pattern must name all of its groups or none')],
  ['regex("(?=a)", "a")', fails('pattern is not valid')],
  ['regexall("[a-z]", "1a2b3c")', '["a","b","c"]'],
  ['regexall("(.)=(.)", "a=1 b=2")', '[["a","1"],["b","2"]]'],
  ['regexall("x", "abc")', '[]'],
  ['regexall("a*", "baa")', '["","aa",""]'],

  ['regex_replace("hello world", "o", "0")', '"hell0 w0rld"'],
  [raw`regex_replace("John Smith", "(\\w+) (\\w+)", "$2, $1")`, '"Smith, John"'],
  [raw`regex_replace("a1b2", "(\\d)", "<$${1}>")`, '"a<1>b<2>"'],
  ['regex_replace("ab", "(?P<x>a)", "$x-$$")', '"a-$b"'],
  ['regex_replace("ab", "(a)", "$1x")', '"b"'],
  ['regex_replace("ab", "a", "$9")', '"b"'],
  ['regex_replace("abc", "x*", "-")', '"-a-b-c-"'],
  ['regex_replace("abc", "", "")', '"abc"'],
  ['regex_replace("aaa", "a", "")', '""'],
  ['regex_replace("a", "[", "")', fails('pattern is not valid')],
  ['regex_replace("é😀", ".", "x")', '"xx"'],
])

test('a pattern that is too large is refused', () => {
  const result = call('regex("(.{900}){900}", "a")')
  assert.ok(!result.ok)
  assert.match(result.error[0]?.detail ?? '', /pattern is (larger|not valid)/)
})

test('a search that starts over at every character is stopped', () => {
  const result = call(`regexall("a.*x|a", "${'a'.repeat(20_000)}")`)
  assert.ok(!result.ok)
  assert.match(result.error[0]?.detail ?? '', /it needs more than the 2000000 steps/)
})
