import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ok } from '@reeve/kit/result.ts'
import { bodyToValue, decodeBody } from './decode/decode.ts'
import { evaluate } from './evaluate/evaluate.ts'
import { createScope, type FunctionDefinition, type Scope } from './evaluate/scope.ts'
import {
  DIAGNOSTIC_COUNT_MAX,
  EVALUATION_STEPS_MAX,
  NESTING_DEPTH_MAX,
  SOURCE_LENGTH_MAX,
  TOKEN_COUNT_MAX,
} from './limits.ts'
import { parseHclJson } from './syntax/json.ts'
import { parseHcl1 } from './syntax/hcl1.ts'
import { parseHcl, parseExpression, parseTemplate } from './syntax/parse.ts'
import { findReferences } from './syntax/references.ts'
import type { Body } from './syntax/ast.ts'
import type { Diagnostic } from './text/diagnostic.ts'
import { formatDiagnostics } from './text/format.ts'
import { toJson } from './value/value.ts'

const JOB = `
variable "image" {
  type    = string
  default = "web:\${1 + 2}" # comment
}
job "docs" {
  datacenters = ["dc1", "dc2"]
  /* block
     comment */
  group "web" "blue" {
    count = var.n > 1 ? var.n * 2 : 1
    network { mode = "bridge" }
    task "server" {
      env = { for k, v in { A = 1, "b" : 2 } : upper(k) => "\${v}" if v != 3 }
      args = [for i, p in [80, 443] : "p\${i}=\${p}", ]
      template = <<-EOT
        host=\${attr.unique.hostname} $\${x}
        %{ for p in [1, 2] ~}
        port \${p}
        %{ endfor ~}
      EOT
      escaped = "\\n\\u00e9 %{ if true }a%{ else }b%{ endif }"
      splat = [[1, 2], [3]][*][0]
    }
  }
}
`

const JSON_JOB = `{"job": {"docs": {"group": [{"web": {"count": 2, "meta": {"a": "x\${1 + 1}"}}}], "//": "c"}}}`

const LEGACY_JOB = `
namespace "web-*" { policy = "write"  capabilities = ["a", "b"] }
"quoted key" = <<-EOT
    text \${left.alone}
    EOT
meta { a = 0x1F, b = -1.5e3 c = [1, { d = true }] }
`

const parsers = [parseHcl, parseHclJson, parseHcl1] as const

/**
 * Parses the text in every syntax and evaluates the result. Must return results within the limits,
 * never throw.
 */
function exercise(text: string): void {
  for (const parseIt of parsers) {
    const parsed = parseIt(text, 'f')
    if (!parsed.ok) checkDiagnostics(text, parsed.error)
    else exerciseBody(parsed.value, text)
  }
  for (const parseIt of [parseExpression, parseTemplate]) {
    const parsed = parseIt(text, 'f')
    if (!parsed.ok) checkDiagnostics(text, parsed.error)
    else {
      findReferences(parsed.value)
      exerciseResult(evaluate(parsed.value, aScope()), text)
    }
  }
}

function exerciseBody(body: Body, text: string): void {
  const scope = aScope()
  const result = bodyToValue(body, { scope })
  if (result.ok) toJson(result.value)
  else checkDiagnostics(text, result.error)
  const strict = decodeBody(body, { attributes: { count: {} } }, { scope: aScope() })
  if (!strict.ok) checkDiagnostics(text, strict.error)
}

function exerciseResult(result: ReturnType<typeof evaluate>, text: string): void {
  if (result.ok) toJson(result.value)
  else checkDiagnostics(text, result.error)
}

function checkDiagnostics(text: string, diagnostics: readonly Diagnostic[]): void {
  assert.ok(diagnostics.length > 0, 'a refusal says why')
  assert.ok(diagnostics.length <= DIAGNOSTIC_COUNT_MAX + 1)
  for (const { range } of diagnostics) {
    assert.ok(range.start.offset <= range.end.offset)
    assert.ok(range.end.offset <= text.length)
    assert.ok(range.start.line >= 1 && range.start.column >= 1)
  }
  const shown = formatDiagnostics(text, diagnostics)
  assert.ok(shown.length < 1000 * diagnostics.length, 'messages stay messages')
}

const functions: Record<string, FunctionDefinition> = {
  upper: {
    kind: 'eager',
    parameters: [{ name: 's', type: { kind: 'string' } }],
    call: ([s]) => ok(s ?? null),
  },
}

function aScope(): Scope {
  const variables = { var: { n: 2, list: ['a', 'b'] }, local: { deep: { a: [1, { b: null }] } } }
  return createScope({ variables, functions, isDeferred: (root) => root === 'attr' })
}

const words = [
  '{ } [ ] ( ) " ${ %{ ~} ${~ } = => : :: , . ... + - * / % ! == != < > <= >= && || ? ~ $ $$ %%',
  'for in if else endif endfor true null var attr a upper( .n [*] 1 0 1e400 9007199254740993 0.5',
  "# // /* */ \\ \\u \\n ' ; ` \u0000 \uFEFF é 😀 \uD800 & |",
]
  .flatMap((line) => line.split(' '))
  .concat(['<<A\n', '<<-A\n', '\nA\n', '\n', ' ', '\t', '\r', '\r\n'])

test('random token soup gives results or diagnostics in every syntax', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 60 }), (parts) =>
      exercise(parts.join('')),
    ),
    { numRuns: 1500 },
  )
})

test('random characters give results or diagnostics in every syntax', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 80 }), (text) => exercise(text)),
    { numRuns: 500 },
  )
})

test('mutated files give results or diagnostics in every syntax', () => {
  const mutation = fc.record({
    file: fc.constantFrom(JOB, JSON_JOB, LEGACY_JOB),
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    cut: fc.nat({ max: 12 }),
    insert: fc.array(fc.constantFrom(...words), { maxLength: 3 }),
  })
  fc.assert(
    fc.property(mutation, ({ file, at, cut, insert }) => {
      const start = Math.floor(at * file.length)
      exercise(file.slice(0, start) + insert.join('') + file.slice(start + cut))
    }),
    { numRuns: 1500 },
  )
})

test('every prefix of a file gives a result or diagnostics', () => {
  for (const file of [JOB, JSON_JOB, LEGACY_JOB])
    for (let end = 0; end <= file.length; end += 3) exercise(file.slice(0, end))
})

const DEEP = 20_000
const DEEPEST = 100_000
const deepCases: readonly { readonly name: string; readonly text: string }[] = [
  { name: 'a hundred thousand open brackets', text: '['.repeat(DEEPEST) },
  {
    name: 'a hundred thousand balanced brackets',
    text: '['.repeat(DEEPEST) + ']'.repeat(DEEPEST),
  },
  { name: 'open braces', text: '{'.repeat(DEEP) },
  { name: 'nested objects', text: '{a='.repeat(DEEP) + '1' + '}'.repeat(DEEP) },
  { name: 'nested JSON objects', text: '{"a":'.repeat(DEEP) + '1' + '}'.repeat(DEEP) },
  { name: 'parentheses', text: '('.repeat(DEEP) + '1' + ')'.repeat(DEEP) },
  { name: 'unary operators', text: '-'.repeat(DEEP) + '1' },
  { name: 'negations', text: '!'.repeat(DEEP) + 'true' },
  { name: 'nested templates', text: '"${'.repeat(DEEP) + '1' + '}"'.repeat(DEEP) },
  { name: 'conditionals', text: 'true ? 1 : '.repeat(DEEP) + '1' },
  { name: 'calls', text: 'upper('.repeat(DEEP) + '1' + ')'.repeat(DEEP) },
  { name: 'splats', text: 'var' + '[*]'.repeat(DEEP) },
  { name: 'indexes of indexes', text: 'var['.repeat(DEEP) + '1' + ']'.repeat(DEEP) },
  { name: 'blocks', text: 'a {\n'.repeat(DEEP) + '}\n'.repeat(DEEP) },
  { name: 'labels', text: `a ${'b '.repeat(DEEP)}{\n}\n` },
  { name: 'quoted labels', text: `a ${'"b" '.repeat(DEEP)}{\n}\n` },
  { name: 'directives', text: '%{ if true }'.repeat(DEEP) + '%{ endif }'.repeat(DEEP) },
  { name: 'for expressions', text: '[for a in [1] : '.repeat(DEEP) + '1' + ']'.repeat(DEEP) },
]

for (const c of deepCases)
  test(`${c.name} without end are refused, not followed`, () => {
    exercise(c.text)
    const parsed = parseHcl(`a = ${c.text}\nb = 1\n`, 'f')
    if (!parsed.ok) checkDiagnostics(c.text + ' '.repeat(20), parsed.error)
  })

const longCases: readonly {
  readonly name: string
  readonly text: string
  readonly json: string
}[] = [
  { name: 'sums', text: '1' + ' + 1'.repeat(DEEP), json: String(DEEP + 1) },
  { name: 'comparisons', text: 'true' + ' == true'.repeat(DEEP), json: 'true' },
  { name: 'disjunctions', text: 'false' + ' || false'.repeat(DEEP), json: 'false' },
  { name: 'divisions', text: '1' + ' / 3'.repeat(2000) + ' * 0', json: '0' },
]

for (const c of longCases)
  test(`a long chain of ${c.name} is evaluated without depth`, () => {
    const parsed = parseExpression(c.text, 'f')
    assert.ok(parsed.ok)
    const result = evaluate(parsed.value, aScope())
    assert.ok(result.ok)
    assert.equal(toJson(result.value), c.json)
    findReferences(parsed.value)
  })

test('the deepest allowed nesting is parsed and evaluated', () => {
  const levels = NESTING_DEPTH_MAX - 2
  const shapes = [
    `${'['.repeat(levels)}1${']'.repeat(levels)}`,
    `${'(1 + '.repeat(levels)}1${')'.repeat(levels)}`,
    `${'{a = '.repeat(levels)}1${'}'.repeat(levels)}`,
    `${'[for a in [1] : '.repeat(levels)}1${']'.repeat(levels)}`,
    `"${'%{ if true }'.repeat(levels - 1)}${'%{ endif }'.repeat(levels - 1)}"`,
    `${'"x${'.repeat(levels / 2 - 1)}1${'}"'.repeat(levels / 2 - 1)}`,
    `${'true ? 1 : '.repeat(levels)}1`,
    `${'upper('.repeat(levels)}1${')'.repeat(levels)}`,
    `var${'[*]'.repeat(levels - 1)}`,
  ]
  for (const text of shapes) {
    const parsed = parseExpression(text, 'f')
    assert.ok(parsed.ok, text.slice(0, 20))
    const result = evaluate(parsed.value, aScope())
    assert.ok(result.ok, text.slice(0, 20))
    toJson(result.value)
  }
  const blocks = parseHcl('a {\n'.repeat(levels) + '}\n'.repeat(levels), 'f')
  assert.ok(blocks.ok)
  const value = bodyToValue(blocks.value, { scope: aScope() })
  assert.ok(value.ok)
  toJson(value.value)
})

/** Text of about `size` characters; a quadratic algorithm would not terminate in time. */
function fill(size: number, unit: string): string {
  return unit.repeat(Math.floor(size / unit.length))
}

const MEGABYTE = 1024 * 1024

const largeCases: readonly { readonly name: string; readonly text: string }[] = [
  { name: 'five megabytes of arguments', text: fill(5 * MEGABYTE, 'a = 1\n') },
  {
    name: 'a heredoc of five megabytes',
    text: `a = <<EOT\n${fill(5 * MEGABYTE, 'some text of a line\n')}EOT\n`,
  },
  {
    name: 'five megabytes of JSON',
    text: `{"a":[${fill(5 * MEGABYTE, '{"name":"text of a value \\u0041 ${1}"},')}1]}`,
  },
  ...[
    ['x', '1', '\n', ' ', "'", '"\n', '/*', '#\n', '<<A\n', '$${', '\\', '😀', 'a b ', 'a = ]\n'],
    ['"${', '%{', 'a = "\\q"\n', 'a {}\n', 'a.', '1 +', '[1,', '{a=1,', '"a":', '0x', '-'],
  ]
    .flat()
    .map((unit) => ({
      name: `a quarter of a megabyte of ${JSON.stringify(unit)}`,
      text: fill(MEGABYTE / 4, unit),
    })),
]

for (const c of largeCases) test(`${c.name} is read or refused`, () => exercise(c.text))

test('a large file within the limits is read whole', () => {
  const count = Math.floor(TOKEN_COUNT_MAX / 4) - 1
  const text = Array.from({ length: count }, (_, index) => `a${index} = ${index}\n`).join('')
  const parsed = parseHcl(text, 'f')
  assert.ok(parsed.ok)
  assert.equal(parsed.value.attributes.length, count)
})

test('a text beyond the limits is refused by size', () => {
  const tooLong = ' '.repeat(SOURCE_LENGTH_MAX + 1)
  const tooMany = 'a\n'.repeat(TOKEN_COUNT_MAX / 2 + 1)
  for (const text of [tooLong, tooMany]) {
    const parsed = parseHcl(text, 'f')
    assert.ok(!parsed.ok)
    assert.deepEqual(
      parsed.error.map((one) => one.summary),
      ['Text too long'],
    )
  }
  for (const parseIt of [parseHclJson, parseHcl1]) {
    const parsed = parseIt(tooLong, 'f')
    assert.ok(!parsed.ok)
    assert.deepEqual(
      parsed.error.map((one) => one.summary),
      ['Text too long'],
    )
  }
})

test('a line of thirty thousand problems costs as much as a file of them', () => {
  const members = Array.from({ length: 30_000 }, (_, index) => `"n${index}":"\${missing}😀"`)
  exercise(`{${members.join(',')}}`)
})

test('evaluation stops at its budget', () => {
  const list = `[${'1,'.repeat(1000)}]`
  const text = `[for a in ${list} : [for b in ${list} : [for c in ${list} : a + b + c]]]`
  const parsed = parseExpression(text, 'f')
  assert.ok(parsed.ok)
  const scope = aScope()
  const result = evaluate(parsed.value, scope)
  assert.ok(!result.ok)
  assert.deepEqual(
    result.error.map((one) => one.summary),
    ['Evaluation too expensive'],
  )
  assert.ok(scope.meter.stepsUsed < EVALUATION_STEPS_MAX + 10_000)
})
