import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { show } from '../value/show.ts'
import { compilePolicy, type PolicyOptions } from './policy.ts'
import type { EvaluateOptions, Evaluation } from './execute.ts'

function evaluate(
  text: string,
  options: Partial<EvaluateOptions> = {},
  policy: PolicyOptions = {},
): Evaluation {
  const compiled = compilePolicy({ file: 'p.native', text }, policy)
  assert.ok(compiled.ok, compiled.ok ? '' : JSON.stringify(compiled.error))
  return compiled.value.evaluate({ importValue: () => undefined, ...options })
}

function problemOf(text: string, policy: PolicyOptions = {}): string {
  const compiled = compilePolicy({ file: 'p.native', text }, policy)
  assert.ok(!compiled.ok, 'the policy was accepted')
  const [first] = compiled.error
  return `${first?.position.line}:${first?.position.column} ${first?.message}`
}

/** Reference §1.16, one row each: text, result, value as shown. */
const VECTORS: readonly (readonly [string, Evaluation['result'], string?])[] = [
  ['main = rule { [1, 2, 3] contains 2.0 }', 'pass'],
  ['a = {"k": 1}\nmain = rule { a.missing else 5 is 5 }', 'pass'],
  ['main = rule { {}["x"] > 1 or true }', 'pass'],
  ['main = rule { false and {}["x"] }', 'fail', 'false'],
  ['main = rule { {}["x"] and false }', 'undefined'],
  ['x = 1\nr = rule { x is 2 }\nx = 2\nmain = r', 'pass'],
  [
    'n = 0\nf = func() { n += 1\nreturn true }\nr = rule { f() }\nmain = rule { r and r and n is 1 }',
    'pass',
  ],
  [
    'xs = []\nfor [1, 2, 3] as v { if v is 2 { continue }\nappend(xs, v) }\nmain = xs is [1, 3]',
    'pass',
  ],
  ['for ["a"] as k { last = k }\nmain = last is "a"', 'error'],
  ['if true { z = 3 }\nmain = z is 3', 'pass'],
  ['main = filter [1, 2, 3] as v { v > 2 }', 'fail', '[3]'],
  ['main = filter {"a": 1} as k, v { v > 5 }', 'pass', '{}'],
  ['main = rule when false { error("never") }', 'pass'],
  ['main = rule { -7 / 2 is -3 and -7 % 2 is -1 and 7 / 2.0 is 3.5 }', 'pass'],
  ['main = ("abc"[2:9] else "u") is "u" and "abc"[1:] is "bc"', 'pass'],
  ['f = func(x) { append(x, 9)\nreturn undefined }\nl = []\nf(l)\nmain = l is [9]', 'pass'],
  ['f = func(x) { x = 1\nreturn x }\ny = 0\nf(y)\nmain = y is 0', 'pass'],
  ['main = string(1.5) is "1.500000" and range(5, 0, -2) is [5, 3, 1]', 'pass'],
  ['main = (all [] as x { false }) and not (any [] as x { true })', 'pass'],
  ['main = rule { "x" is null or 1 is "1" }', 'fail', 'false'],
  ['main = rule { "x" is not null }', 'pass'],
  ['main = rule { map ["a"] as s { {"id": s} } }', 'fail', '[{"id": "a"}]'],
  [
    't = "list"\nr = ""\ncase t { when "map", "list": r = "c"\nelse: r = "o" }\nmain = r is "c"',
    'pass',
  ],
  ['m = {"f": func(x) { return x + 1 }}\nmain = m.f(1) is 2', 'pass'],
  ['main = "a1" matches "^[a-z]\\\\d$"', 'pass'],
  ['main = {"default": 1, "any": 2}.any is 2', 'pass'],
]

describe('the vectors of the reference', () => {
  for (const [text, result, value] of VECTORS)
    it(text, () => {
      const evaluation = evaluate(text)
      assert.equal(evaluation.result, result, evaluation.error?.message)
      if (value !== undefined) assert.equal(show(evaluation.value ?? null, 1000), value)
    })

  it('an undefined main tells where it came up', () => {
    const { result, undefinedAt } = evaluate('main = rule { undefined }')
    assert.equal(result, 'undefined')
    assert.deepEqual([undefinedAt?.line, undefinedAt?.column], [1, 15])
  })

  it('a function keeps its name', () => {
    assert.match(problemOf('func f() { return 1 }\nf = 2\nmain = true'), /^2:1 .*is a function/)
  })

  it('a param is not called like an import', () => {
    const imports = new Set(['time'])
    const text = 'import "time"\nparam time default 1\nmain = true'
    assert.match(problemOf(text, { imports }), /^2:1 .*called like an import/)
  })

  it('a param without a value is an error', () => {
    assert.match(evaluate('param p\nmain = p is 1').error?.message ?? '', /neither a value nor/)
  })

  it('division by a constant zero is found before anything runs', () => {
    assert.match(problemOf('main = 1 / 0'), /^1:12 division by zero/)
  })
})
