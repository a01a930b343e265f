import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LIMITS } from '../model/index.ts'
import { JsonLimitError, parseJsonPrefix } from './json-body.ts'

const cases: readonly [string, unknown][] = [
  ['{"a":1}', { a: 1 }],
  [' {"a":1}  ', { a: 1 }],
  ['{"a":1} trailing', { a: 1 }],
  ['{"a":"}"}{"b":2}', { a: '}' }],
  ['[1,[2]]]', [1, [2]]],
  ['"x\\"y" z', 'x"y'],
]
for (const [text, value] of cases)
  test(`first JSON value of ${text}`, () => assert.deepEqual(parseJsonPrefix(text), value))

for (const text of ['', 'nope', '{"a":', '{a:1}', '"open'])
  test(`no JSON value in ${JSON.stringify(text)}`, () =>
    assert.throws(() => parseJsonPrefix(text), SyntaxError))

// Longer texts are measured first

/** As many characters as make a text long, of none that matter. */
/** Texts as long as this are measured. */
const LONG = ' '.repeat(64 * 1024)

for (const [text, value] of cases)
  test(`first JSON value of a long ${text}`, () => {
    assert.deepEqual(parseJsonPrefix(LONG + text), value)
    assert.deepEqual(parseJsonPrefix(text + LONG), value)
  })

for (const text of ['', 'nope', '{"a":', '{a:1}', '"open', '"\\', '}', '{"a":1,}', '[1}'])
  test(`no JSON value in a long ${JSON.stringify(text)}`, () =>
    assert.throws(() => parseJsonPrefix(LONG + text), SyntaxError))

const { jsonBodyDepthMax: depth, jsonContainersMax: containers, jsonShapesMax: names } = LIMITS

function nested(levels: number): string {
  return '['.repeat(levels) + ']'.repeat(levels)
}

function numbered(count: number, write: (i: number) => string): string {
  return Array.from({ length: count }, (_, i) => write(i)).join()
}

/** Beginnings of objects that share a hash count once; so many over the limit surely do not. */
const SHARED = 1_000

const within: readonly { name: string; text: string }[] = [
  { name: 'as deep as may be', text: nested(depth) },
  {
    name: 'as deep as may be again and again',
    text: `[${numbered(100, () => nested(depth - 1))}]`,
  },
  { name: 'as many objects as may be', text: `[${numbered(containers - 1, () => '{}')}]` },
  { name: 'as many names as may be', text: `{${numbered(names, (i) => `"k${i}":1`)}}` },
  { name: 'equal records without end', text: `[${numbered(90_000, () => '{"a":1,"b" : 2}')}]` },
  { name: 'brackets in a string', text: JSON.stringify('[{'.repeat(containers)) },
  { name: 'brackets after a quote that is escaped', text: `["\\"${'['.repeat(2 * depth)}"]` },
  { name: 'a backslash at the end of a string', text: `["\\\\",${numbered(9, (i) => `"${i}"`)}]` },
  { name: 'many strings that name nothing', text: `[${numbered(2 * names, (i) => `"k${i}"`)}]` },
  { name: 'depth after the first value', text: `{}${nested(2 * depth)}` },
]
for (const { name, text } of within)
  test(`long JSON: ${name} is parsed`, () => {
    assert.doesNotThrow(() => parseJsonPrefix(LONG + text))
  })

const beyond: readonly { name: string; text: string; problem: RegExp }[] = [
  { name: 'one level more', text: nested(depth + 1), problem: /more than 512 levels deep/ },
  { name: 'objects in lists', text: '[{"a":'.repeat(depth), problem: /levels deep/ },
  {
    name: 'levels after a string that ends in a backslash',
    text: `["\\\\",${nested(depth)}]`,
    problem: /levels deep/,
  },
  {
    name: 'one object more',
    text: `[${numbered(containers, () => '{}')}]`,
    problem: /more than 100000 objects and lists/,
  },
  {
    name: 'too many names in one object',
    text: `{${numbered(names + SHARED, (i) => `"k${i}":1`)}}`,
    problem: /more than 30000 different names/,
  },
  {
    name: 'too many names, each in its own object',
    text: `[${numbered(names + SHARED, (i) => `{"k${i}" :1}`)}]`,
    problem: /different names/,
  },
  {
    name: 'few names in too many orders',
    text: `[${numbered(50_000, (i) => `{"a${i % 250}":1,"b${Math.trunc(i / 250)}":1}`)}]`,
    problem: /different names/,
  },
]
for (const { name, text, problem } of beyond)
  test(`long JSON: ${name} is rejected`, () => {
    assert.throws(
      () => parseJsonPrefix(LONG + text),
      (thrown) => thrown instanceof JsonLimitError && problem.test(thrown.message),
    )
  })
