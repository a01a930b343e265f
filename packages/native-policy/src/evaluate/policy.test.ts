import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ELLIPSIS } from '@reeve/kit/truncate-text.ts'
import { PRINT_LENGTH_MAX } from '../limits.ts'
import { formatValue } from '../value/value.ts'
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

/** Policy text, result, formatted value. */
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
      if (value !== undefined) assert.equal(formatValue(evaluation.value ?? null, 1000), value)
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
    const isImport = (path: string) => path === 'time'
    const text = 'import "time"\nparam time default 1\nmain = true'
    assert.match(problemOf(text, { isImport }), /^2:1 .*called like an import/)
  })

  it('a param without a value is an error', () => {
    assert.match(evaluate('param p\nmain = p is 1').error?.message ?? '', /neither a value nor/)
  })

  it('division by a constant zero is found before anything runs', () => {
    assert.match(problemOf('main = 1 / 0'), /^1:12 division by zero/)
  })
})

/** Expression and description. */
const UNDEFINED: readonly (readonly [string, string])[] = [
  ['undefined or true', 'true'],
  ['undefined or false', 'undefined'],
  ['undefined or undefined', 'undefined'],
  ['undefined and true', 'undefined'],
  ['undefined and false', 'undefined'],
  ['true and undefined', 'undefined'],
  ['false and undefined', 'false'],
  ['true or undefined', 'true'],
  ['undefined xor true', 'undefined'],
  ['not undefined', 'undefined'],
  ['-undefined', 'undefined'],
  ['undefined + 1', 'undefined'],
  ['undefined is 1', 'undefined'],
  ['undefined matches "a"', 'undefined'],
  ['undefined contains 1', 'undefined'],
  ['1 in undefined', 'undefined'],
  ['undefined else 3', '3'],
  ['undefined is defined', 'false'],
  ['undefined is not defined', 'true'],
  ['undefined is empty', 'undefined'],
  ['undefined is not empty', 'undefined'],
  ['undefined.x', 'undefined'],
  ['undefined[0]', 'undefined'],
  ['null["x"]', 'undefined'],
  ['null[0:1]', 'undefined'],
  ['undefined(1)', 'undefined'],
  ['length(undefined)', 'undefined'],
  ['keys(undefined)', 'undefined'],
  ['range(undefined)', 'undefined'],
  ['any [undefined, true] as x { x }', 'true'],
  ['any [undefined, false] as x { x }', 'undefined'],
  ['all [undefined, false] as x { x }', 'undefined'],
  ['all [false, undefined] as x { x }', 'false'],
  ['filter [1] as x { undefined }', 'undefined'],
  ['length(map [1] as x { undefined })', '1'],
]

const OPERATORS: readonly (readonly [string, string])[] = [
  ['2 + 3 * 4', '14'],
  ['1 else 0 + 1', '1'],
  ['{}.x else 0 + 1', '1'],
  ['10 - 2 - 3', '5'],
  ['7 / 2', '3'],
  ['7 / 2.0', '3.5'],
  ['4 / 2.0', '2.0'],
  ['-7 % 3', '-1'],
  ['9223372036854775807 + 1', '-9223372036854775808'],
  ['0x10 + 010', '24'],
  ['072.40', '72.4'],
  ['.25 + 1.', '1.25'],
  ['1E6', '1000000.0'],
  ['"a" + "b"', '"ab"'],
  ['[1] + [2]', '[1, 2]'],
  ['1 is 1.0', 'true'],
  ['{1: "a"}[1.0]', '"a"'],
  ['[1, [2]] is [1.0, [2.0]]', 'true'],
  ['{"a": 1} is {"a": 1.0}', 'true'],
  ['1 is "1"', 'false'],
  ['1 is not "1"', 'true'],
  ['1 < "a"', 'undefined'],
  ['"B" < "a"', 'true'],
  ['"z" < "é"', 'true'],
  ['length("é")', '2'],
  ['"é"[0:1] is "\\xc3"', 'true'],
  ['"\\xc3" + "\\xa9" is "é"', 'true'],
  ['"abc" contains "b"', 'true'],
  ['"b" in "abc"', 'true'],
  ['{"k": 1} contains "k"', 'true'],
  ['[1, 2] not contains 3', 'true'],
  ['3 not in [1, 2]', 'true'],
  ['"abc" not matches "^b"', 'true'],
  ['[1, 2, 3][-1]', '3'],
  ['[1][5]', 'undefined'],
  ['[1, 2, 3][1:]', '[2, 3]'],
  ['[1, 2, 3][:2]', '[1, 2]'],
  ['[1, 2][2:1]', 'undefined'],
  ['[] is empty and {} is empty and "" is empty', 'true'],
  ['[1] is not empty', 'true'],
  ['true xor true', 'false'],
  ['true or false and false', 'true'],
  ['{"b": 2, "a": 1}', '{"a": 1, "b": 2}'],
  ['keys({"b": 2, "a": 1})', '["a", "b"]'],
  ['values({"b": 2, "a": 1})', '[1, 2]'],
  ['int("0x1f")', '31'],
  ['int("x")', 'undefined'],
  ['int(42.8)', '42'],
  ['int(-42.8)', '-42'],
  ['int(true)', '1'],
  ['float("1")', '1.0'],
  ['string(true)', '"true"'],
  ['bool("T")', 'true'],
  ['bool("yes")', 'undefined'],
  ['compare("a", "b")', '-1'],
  ['range(3)', '[0, 1, 2]'],
  ['range(1, 3)', '[1, 2]'],
  ['range(3, 1)', '[]'],
  ['all filter [1, 2, 3] as _, x { x > 1 } as _, x { x > 1 }', 'true'],
  ['map {"a": 1} as k, v { k + string(v) }', '["a1"]'],
  ['filter {"a": 1, "b": 2} as k, v { k is "b" }', '{"b": 2}'],
]

describe('expressions', () => {
  for (const [expression, expected] of [...UNDEFINED, ...OPERATORS])
    it(expression, () => {
      const evaluation = evaluate(`main = [${expression}]`)
      assert.equal(evaluation.error, undefined)
      assert.equal(formatValue(evaluation.value ?? null, 1000), `[${expected}]`)
    })
})

/** Policy text, part of the message, line:column. */
const ERRORS: readonly (readonly [string, RegExp, string])[] = [
  ['main = 1 + "a"', /"\+" is not possible between int and string/, '1:10'],
  ['x = 0\nmain = 1 / x', /division by zero/, '2:10'],
  ['main = 1 and true', /"and" needs a bool, not int/, '1:10'],
  ['main = nothing', /there is no "nothing"/, '1:8'],
  ['if undefined { x = 1 }\nmain = true', /condition of "if" must be a bool/, '1:4'],
  ['f = func(a) { return a }\nmain = f()', /f takes 1 argument, 0 given/, '2:8'],
  ['f = func(a) { x = a }\nmain = f(1)', /f ends without "return"/, '1:5'],
  ['main = "a" matches "("', /no regular expression/, '1:12'],
  ['main = error("gone", 1)', /gone 1/, '1:8'],
  ['x = [1]\nx[3] = 1\nmain = true', /none at this index/, '2:6'],
  ['r = rule { r }\nmain = r', /needs its own value/, '1:5'],
  ['x = 1', /no "main"/, '1:1'],
  ['main = null', /"main" cannot be null/, '1:1'],
  ['main = length(5)', /length needs a list/, '1:8'],
  ['append(1, 2)\nmain = true', /append needs a list/, '1:1'],
  ['main = "abc"["a"]', /only a list or a map has elements/, '1:13'],
]

describe('errors while a policy runs', () => {
  for (const [text, message, place] of ERRORS)
    it(text, () => {
      const { result, error } = evaluate(text)
      assert.equal(result, 'error')
      assert.match(error?.message ?? '', message)
      assert.equal(`${error?.position.line}:${error?.position.column}`, place)
    })
})

const PROBLEMS: readonly (readonly [string, RegExp])[] = [
  ['main = (1', /^1:10 "\)" is expected/],
  ['main = "a', /^1:8 the string is not closed/],
  ['x.y = 1', /^1:1 nothing can be assigned.*x\["name"\]/],
  ['import "nope"\nmain = true', /^1:1 there is no import "nope"/],
  ['break', /^1:1 "break" is outside a loop/],
  ['for [1] as x { f = func() { break\nreturn 1 } }', /^1:29 "break" is outside a loop/],
  ['return 1', /^1:1 "return" is outside/],
  ['x = append([], 1)', /^1:5 "append" changes its list/],
  ['true = 1', /^1:1 "true" is a constant/],
  ['param length\nmain = true', /^1:1 .*predeclared/],
  ['x = 08', /^1:5 .*not octal/],
  ['x = "\\q"', /^1:6 "\\q" is no escape/],
  ['x = 1 2', /^1:7 the end of the statement is expected/],
  ['x = 9999999999999999999', /^1:5 .*does not fit in 64 bits/],
  ['main = @', /^1:8 unexpected character/],
]

describe('problems before a policy runs', () => {
  for (const [text, expected] of PROBLEMS) it(text, () => assert.match(problemOf(text), expected))
})

describe('explanations', () => {
  it('name the rule, the expression, its place and the values', () => {
    const text =
      '# Everything is small.\nsmall = rule {\n  all xs as x { x.size < 10 }\n}\nmain = rule { small and true }'
    const xs = 'xs = [{"size": 5}, {"size": 12}]\n'
    const { rules } = evaluate(xs + text, { explain: true })
    const [small] = rules
    assert.equal(small?.name, 'small')
    assert.equal(small?.description, 'Everything is small.')
    assert.deepEqual(
      small?.failures.map(({ text: quoted, operands, position }) => ({
        quoted,
        operands,
        line: position.line,
        column: position.column,
      })),
      [
        { quoted: 'x.size < 10', operands: [{ text: 'x.size', value: '12' }], line: 4, column: 17 },
        {
          quoted: 'all xs as x { x.size < 10 }',
          operands: [{ text: 'element of xs', value: '1' }],
          line: 4,
          column: 3,
        },
      ],
    )
    assert.deepEqual(
      rules[1]?.failures.map(({ text: quoted }) => quoted),
      ['small'],
    )
  })

  it('quote what begins with a parenthesis with it', () => {
    const quoted = [
      '(x.y else "") is not "z"',
      '(x).y is "a"',
      '(x.y + "") in ["a"]',
      '(x.y) is empty',
      '(1 + 2) * 3 > 9',
    ]
    for (const text of quoted) {
      const code = `x = {"y": "z"}\nmain = rule { ${text} }`
      const { rules } = evaluate(code, { explain: true })
      const [failure] = rules[0]?.failures ?? []
      assert.deepEqual([failure?.text, failure?.position.column], [text, 15])
    }
  })

  it('leave out what was false on the way to true', () => {
    const { rules } = evaluate('main = rule { (1 is 2 or 3 is 3) and 4 is 5 }', { explain: true })
    assert.deepEqual(
      rules[0]?.failures.map(({ text }) => text),
      ['4 is 5'],
    )
  })
})

describe('limits', () => {
  it('an endless recursion ends', () => {
    const { error, isOverLimit } = evaluate('f = func(n) { return f(n + 1) }\nmain = f(0)')
    assert.ok(isOverLimit)
    assert.match(error?.message ?? '', /500 deep/)
  })

  it('a list that grows by itself ends', () => {
    const text = 'xs = [1]\nfor range(60) as _ { xs += xs }\nmain = true'
    assert.ok(evaluate(text).isOverLimit)
  })

  it('steps are counted', () => {
    const text = 'n = 0\nfor range(1000) as _ { for range(1000) as _ { n += 1 } }\nmain = true'
    assert.ok(evaluate(text, { stepsMax: 10_000 }).isOverLimit)
  })

  it('a cancelled evaluation ends', () => {
    const text = 'for range(1000000) as x { y = x }\nmain = true'
    assert.ok(evaluate(text, { isCancelled: () => true }).isOverLimit)
  })
})

describe('modules and params', () => {
  it('a module runs once, its lists are copied', () => {
    const modules = new Map([
      ['m', { file: 'm.native', text: 'xs = [1]\nadd = func(x) { xs += [x]\nreturn xs }' }],
    ])
    const text = 'import "m"\na = m.xs\nappend(a, 2)\nmain = m.xs is [1] and m.add(3) is [1, 3]'
    assert.equal(evaluate(text, {}, { modules }).result, 'pass')
  })

  it('a missing import is reported at its position', () => {
    const text = '# on top\n\nimport "time"\n  import "run"\nmain = run.id is time.now'
    const importValue = (path: string) => (path === 'time' ? 1 : undefined)
    const { error } = evaluate(text, { importValue }, { isImport: () => true })
    assert.deepEqual(
      [error?.message, error?.position.line, error?.position.column],
      ['the import "run" is not there in this evaluation', 4, 3],
    )
  })

  it('a module that imports itself is a problem', () => {
    const modules = new Map([['m', { file: 'm.native', text: 'import "m"' }]])
    assert.match(problemOf('import "m"\nmain = true', { modules }), /imports itself/)
  })

  it('params take the given value before the default', () => {
    const params = new Map([['p', 'x']])
    assert.equal(evaluate('param p default "y"\nmain = p is "x"', { params }).result, 'pass')
    assert.equal(evaluate('param p default "y"\nmain = p is "y"').result, 'pass')
  })
})

it('what is printed is cut once, and the cut is shown', () => {
  const { printed } = evaluate('for range(0, 9000) as n { print("0123456789") }\nmain = true')
  assert.equal(printed.length, PRINT_LENGTH_MAX + ELLIPSIS.length)
  assert.equal(printed.indexOf(ELLIPSIS), PRINT_LENGTH_MAX)
})
