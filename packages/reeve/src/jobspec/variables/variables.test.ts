import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatDiagnostic } from '@reeve/hcl'
import { parseJobFile, type JobFileRequest } from '../parse-job-file.ts'

const request = { file: 'input.hcl', files: undefined, random: { next: () => 0 } }

function read(options: Partial<JobFileRequest> & { readonly text: string }) {
  const text = `${options.text}\njob "j" {}\n`
  return parseJobFile({ ...request, strict: true, ...options, text })
}

function valuesOf(options: Partial<JobFileRequest> & { readonly text: string }) {
  const result = read(options)
  assert.ok(result.ok, result.ok ? '' : result.error.map(formatDiagnostic).join('\n'))
  return result.value.variables
}

function errorsOf(options: Partial<JobFileRequest> & { readonly text: string }) {
  const result = read(options)
  assert.ok(!result.ok)
  return result.error.map(formatDiagnostic)
}

const x = (inner: string) => `variable "x" {\n${inner}\n}`

const declared = [
  { name: 'a default', text: x('default = "a"'), value: 'a' },
  { name: 'a default converted to the type', text: x('type = number\ndefault = "7"'), value: 7 },
  { name: 'a type in quotes', text: x('type = "string"\ndefault = 7'), value: '7' },
  { name: 'a list', text: x('type = list(string)\ndefault = ["a", 1]'), value: ['a', '1'] },
  { name: 'a set', text: x('type = set(string)\ndefault = ["b", "a", "b"]'), value: ['a', 'b'] },
  { name: 'a map', text: x('type = map(number)\ndefault = { a = "1" }'), value: { a: 1 } },
  {
    name: 'an object',
    text: x('type = object({ a = number, b = list(bool) })\ndefault = { a = 1, b = ["true"] }'),
    value: { a: 1, b: [true] },
  },
  {
    name: 'an object with a null',
    text: x('type = object({ a = number })\ndefault = { a = null }'),
    value: { a: null },
  },
  {
    name: 'an object without what is optional',
    text: x(
      'type = map(object({ to = number, static = optional(number) }))\ndefault = { a = { to = 1 }, b = { to = 2, static = "3" } }',
    ),
    value: { a: { to: 1, static: null }, b: { to: 2, static: 3 } },
  },
  { name: 'a tuple', text: x('type = tuple([string, number])\ndefault = [1, 2]'), value: ['1', 2] },
  { name: 'any type', text: x('type = any\ndefault = { a = [1] }'), value: { a: [1] } },
  { name: 'null', text: x('type = string\ndefault = null'), value: null },
  { name: 'a computed literal', text: x('default = "${1 + 2}-${"a"}"'), value: '3-a' },
  { name: 'the short form', text: 'variables {\n x = [1, "a"]\n}', value: [1, 'a'] },
  { name: 'a description', text: x('description = "what"\ndefault = 1'), value: 1 },
]

for (const c of declared)
  test(`variables: ${c.name}`, () => assert.deepEqual(valuesOf({ text: c.text }), { x: c.value }))

const layers: Partial<JobFileRequest> = {
  environment: { REEVE_VAR_x: 'environment', REEVE_VAR_other: 'ignored', PATH: '/bin' },
  variableTexts: [
    { file: 'a.vars', text: 'x = "first file"' },
    { file: 'b.vars', text: 'x = "second file"' },
  ],
  flags: { x: 'flag' },
}

const precedence = [
  { name: 'the default is the weakest', take: [], value: 'default' },
  { name: 'the environment is stronger', take: ['environment'], value: 'environment' },
  {
    name: 'the last file is stronger',
    take: ['environment', 'variableTexts'],
    value: 'second file',
  },
  {
    name: 'a flag is the strongest',
    take: ['environment', 'variableTexts', 'flags'],
    value: 'flag',
  },
]

for (const c of precedence)
  test(`variables: ${c.name}`, () => {
    const taken = Object.entries(layers).filter(([name]) => c.take.includes(name))
    const text = x('type = string\ndefault = "default"')
    assert.deepEqual(valuesOf({ ...Object.fromEntries(taken), text }), { x: c.value })
  })

const flags = [
  { name: 'text for a string', type: 'type = string', flag: '[1]', value: '[1]' },
  { name: 'text for the untyped', type: '', flag: 'true', value: 'true' },
  { name: 'text for a number', type: 'type = number', flag: '3', value: 3 },
  { name: 'an expression for a bool', type: 'type = bool', flag: 'true', value: true },
  {
    name: 'an expression for a list',
    type: 'type = list(string)',
    flag: '["a", "b"]',
    value: ['a', 'b'],
  },
  {
    name: 'an expression for an object',
    type: 'type = object({ a = number })',
    flag: '{ a = 1 }',
    value: { a: 1 },
  },
  { name: 'an expression for any', type: 'type = any', flag: '[1, "x"]', value: [1, 'x'] },
  { name: 'text where the default is text', type: 'default = "d"', flag: '1', value: '1' },
  { name: 'a number where the default is one', type: 'default = 5', flag: '6', value: 6 },
  {
    name: 'an expression where the default is a list',
    type: 'default = ["a"]',
    flag: '["b", 1]',
    value: ['b', '1'],
  },
  { name: 'any list where the default is empty', type: 'default = []', flag: '[1]', value: [1] },
  {
    name: 'any object where the default is one',
    type: 'default = {}',
    flag: '{ a = 1 }',
    value: { a: 1 },
  },
]

for (const c of flags)
  test(`variables: a flag is ${c.name}`, () => {
    const text = x(c.type)
    assert.deepEqual(valuesOf({ text, flags: { x: c.flag } }), { x: c.value })
    assert.deepEqual(valuesOf({ text, environment: { REEVE_VAR_x: c.flag } }), { x: c.value })
  })

const files = [
  { name: 'native', text: 'x = ["a"] # comment\n', value: ['a'] },
  { name: 'JSON', text: '{"x": ["a"]}', value: ['a'] },
  { name: 'JSON with a template', text: '{"x": ["${1 + 1}", "$${y}"]}', value: [2, '${y}'] },
]

for (const c of files)
  test(`variables: a file in ${c.name} syntax`, () => {
    const variableTexts = [{ file: 'x.vars', text: c.text }]
    assert.deepEqual(valuesOf({ text: x('type = any'), variableTexts }), { x: c.value })
  })

const one = (inner: string) => ({ text: x(inner) })
const file = (text: string) => ({ text: x('default = 1'), variableTexts: [{ file: 'f', text }] })

const errors: readonly {
  name: string
  given: Parameters<typeof read>[0]
  all: readonly string[]
}[] = [
  {
    name: 'unset',
    given: one('type = string'),
    all: [
      'input.hcl:1,10-13: Unset variable; The variable "x" has no default, so it must be set. Give it a default, or a value along with the file: x = …',
    ],
  },
  {
    name: 'declared twice',
    given: { text: `${x('default = 1')}\nvariables {\n x = 2\n}` },
    all: ['input.hcl:5,2-3: Duplicate variable; A variable named "x" is already declared.'],
  },
  {
    name: 'a bad name',
    given: { text: 'variable "a b" {\n default = 1\n}' },
    all: [
      'input.hcl:1,10-15: Invalid variable name; "a b" is no name: a name has letters, digits, "_" and "-", and does not begin with a digit.',
    ],
  },
  {
    name: 'a bad name, which nobody could set',
    given: { text: 'variable "a b" {}' },
    all: [
      'input.hcl:1,10-15: Invalid variable name; "a b" is no name: a name has letters, digits, "_" and "-", and does not begin with a digit.',
    ],
  },
  {
    name: 'a bad type',
    given: one('type = strng'),
    all: [
      'input.hcl:2,8-13: Invalid type; A type is one of string, number, bool, any, list(T), set(T), map(T), tuple([T, …]) and object({name = T, name = optional(T), …}).',
      'input.hcl:1,10-13: Unset variable; The variable "x" has no default, so it must be set. Give it a default, or a value along with the file: x = …',
    ].toReversed(),
  },
  {
    name: 'a default of another type',
    given: one('type = number\ndefault = "a"'),
    all: [
      'input.hcl:3,11-14: Invalid value for variable; The default does not fit the type: a number is required, but "a" is not one.',
    ],
  },
  {
    name: 'a default that refers',
    given: one('default = local.y'),
    all: [
      'input.hcl:2,11-18: References not allowed; Only a literal value may be written here, but it refers to "local".',
    ],
  },
  {
    name: 'a default that calls',
    given: one('default = upper("a")'),
    all: [
      'input.hcl:2,11-21: Error in function call; Call to function "upper" failed: only a literal value may be written here.',
    ],
  },
  {
    name: 'an unknown argument',
    given: one('defaut = 1\ndefault = 1'),
    all: [
      'input.hcl:2,1-7: Unsupported argument; An argument named "defaut" is not expected here. Did you mean "default"?',
    ],
  },
  {
    name: 'a description that is no text',
    given: one('default = 1\ndescription = []'),
    all: ['input.hcl:3,15-17: Invalid description; A description is a string.'],
  },
  {
    name: 'a flag of another type',
    given: { text: x('type = number'), flags: { x: 'a' } },
    all: [
      '--var x:1,1-2: Invalid value for variable; The value of "x" does not fit the type: a number is required, but "a" is not one.',
    ],
  },
  {
    name: 'a flag that does not parse',
    given: { text: x('type = list(string)'), flags: { x: '[' } },
    all: [
      '--var x:1,2-2: Invalid expression; Expected the start of an expression, but found the end of the text.',
    ],
  },
  {
    name: 'a flag that refers',
    given: { text: x('type = bool\ndefault = true'), flags: { x: 'yes' } },
    all: [
      '--var x:1,1-4: References not allowed; Only a literal value may be written here, but it refers to "yes".',
    ],
  },
  {
    name: 'an undeclared flag',
    given: { text: x('default = 1'), flags: { y: '1' } },
    all: ['--var y:1,1-2: Undeclared variable; The job file declares no variable named "y".'],
  },
  {
    name: 'an undeclared name in a file',
    given: { text: 'variables {\n zone = 1\n}', variableTexts: [{ file: 'f', text: 'zonne = 1' }] },
    all: [
      'f:1,1-6: Undeclared variable; The job file declares no variable named "zonne". Did you mean "zone"?',
    ],
  },
  {
    name: 'a file that does not parse',
    given: file('x = '),
    all: [
      'f:1,5-5: Invalid expression; Expected the start of an expression, but found the end of the text.',
    ],
  },
  {
    name: 'a file with a block',
    given: file('variable "x" {}'),
    all: ['f:1,1-9: Unsupported block type; Blocks of type "variable" are not expected here.'],
  },
  {
    name: 'a file that refers',
    given: file('x = "${attr.y}"'),
    all: [
      'f:1,8-14: References not allowed; Only a literal value may be written here, but it refers to "attr".',
    ],
  },
  {
    name: 'a name twice in a JSON file',
    given: file('{"x": 1, "x": 2}'),
    all: [
      'f:1,10-13: Attribute redefined; The argument "x" was already set. Each argument may be set only once.',
    ],
  },
]

for (const c of errors)
  test(`variables: refused is ${c.name}`, () => assert.deepEqual(errorsOf(c.given), c.all))

test('variables: undeclared names are warnings when not strict', () => {
  const variableTexts = [{ file: 'f', text: 'y = 1' }]
  const result = read({ text: x('default = 1'), strict: false, variableTexts, flags: { z: '' } })
  assert.ok(result.ok)
  assert.deepEqual(
    result.value.warnings.map((warning) => [warning.severity, warning.range.file]),
    [
      ['warning', 'f'],
      ['warning', '--var z'],
    ],
  )
})

const rule = (condition: string, message = '"Wrong."') =>
  `type = number\ndefault = 1\nvalidation {\ncondition = ${condition}\nerror_message = ${message}\n}`

const rules = [
  { name: 'is met', text: x(rule('var.x == 1')), all: [] },
  { name: 'is met by text', text: x(rule('var.x == 1 ? "true" : "false"')), all: [] },
  {
    name: 'is not met',
    text: x(rule('var.x > 1')),
    all: [
      'input.hcl:3,11-12: Invalid value for variable; The value of "x" is refused: Wrong. (Checked at input.hcl:4,1-11.)',
    ],
  },
  {
    name: 'may show the value',
    text: x(rule('var.x > 1', '"Not ${var.x}."')),
    all: [
      'input.hcl:3,11-12: Invalid value for variable; The value of "x" is refused: Not 1. (Checked at input.hcl:4,1-11.)',
    ],
  },
  {
    name: 'is about another variable',
    text: x(rule('var.y > 1')),
    all: [
      'input.hcl:5,13-18: Invalid validation condition; The condition must refer to var.x, and to nothing else.',
    ],
  },
  {
    name: 'is about nothing',
    text: x(rule('true')),
    all: [
      'input.hcl:5,13-17: Invalid validation condition; The condition must refer to var.x, and to nothing else.',
    ],
  },
  {
    name: 'refers to a local too',
    text: x(rule('var.x > local.y')),
    all: [
      'input.hcl:5,21-28: Invalid validation condition; The condition must refer to var.x, and to nothing else.',
    ],
  },
  {
    name: 'is neither true nor false',
    text: x(rule('var.x')),
    all: [
      'input.hcl:5,13-18: Invalid validation condition; The condition of a validation must be true or false.',
    ],
  },
  {
    name: 'has no message',
    text: x(rule('var.x == 1', '""')),
    all: [
      'input.hcl:6,17-19: Invalid validation message; The error_message of a validation must be a string that is not empty.',
    ],
  },
  {
    name: 'lacks an argument',
    text: x('default = 1\nvalidation {\ncondition = var.x == 1\n}'),
    all: [
      'input.hcl:3,1-11: Missing required argument; A validation has a "condition" and an "error_message".',
    ],
  },
]

for (const c of rules)
  test(`variables: a rule that ${c.name}`, () => {
    const result = read({ text: c.text })
    assert.deepEqual(result.ok ? [] : result.error.map(formatDiagnostic), c.all)
  })

test('variables: all rules that fail are reported, with other errors', () => {
  const text = `${x(`${rule('var.x > 1')}\nvalidation {\ncondition = var.x > 2\nerror_message = "Again."\n}`)}\nfoo {}`
  assert.deepEqual(
    errorsOf({ text }).map((error) => /refused: (\w+)|Unsupported/.exec(error)?.[0]),
    ['refused: Wrong', 'refused: Again', 'Unsupported'],
  )
})

test('variables: the environment is read only as far as it is declared', () => {
  const environment = { REEVE_VAR_x: 'a', REEVE_VAR_y: 'b' }
  assert.deepEqual(valuesOf({ text: x(''), environment }), { x: 'a' })
})

test('variables: names of every object are just names', () => {
  const text = 'variables {\n constructor = 1\n toString = 2\n}'
  assert.deepEqual({ ...valuesOf({ text }) }, { constructor: 1, toString: 2 })
  assert.equal(errorsOf({ text: x(''), environment: {} }).length, 1)
})
