/**
 * Fuzzes the three syntaxes with nearly valid HCL. Each text must be parsed and evaluated, or
 * rejected with a source position, within the time limit and without an exception. `npm run fuzz -w
 * packages/hcl -- [--seconds N] [--seed S]`.
 */
import { mutate, type RandomSource } from '@reeve/kit/fuzz/mutate.ts'
import { runFuzzTargets } from '@reeve/kit/fuzz/rounds.ts'
import type { Result } from '@reeve/kit/result.ts'
import {
  bodyToValue,
  evaluate,
  formatDiagnostics,
  createScope,
  parseHcl,
  parseExpression,
  parseHclJson,
  parseHcl1,
  parseTemplate,
  toJson,
  type Body,
  type Diagnostic,
  type Expression,
  type Scope,
} from '../src/index.ts'
import expressions from '../src/cases/expressions.json' with { type: 'json' }
import syntaxErrors from '../src/cases/syntax-errors.json' with { type: 'json' }
import templates from '../src/cases/templates.json' with { type: 'json' }

const LENGTH_MAX = 32 * 1024
const STEPS_MAX = 500_000

const sourcesOf = (cases: readonly { readonly source: string }[]): readonly string[] =>
  cases.map(({ source }) => source)
const EXPRESSIONS = sourcesOf(expressions)
const TEMPLATES = sourcesOf(templates)
const BODIES = [
  ...sourcesOf(syntaxErrors),
  'a = 1\nb "x" "y" {\n  c = [1, { d = "${a}" }]\n  e {}\n}\n',
  'text = <<-END\n    one ${upper("x")}\n  %{ if true ~}\n  two\n  %{ endif ~}\n  END\n',
]
const JSON_BODIES = [
  '{"a": 1, "b": {"x": {"y": [{"c": "${1 + 2}"}, {"c": null}]}}}',
  '[{"a": [1.5, true]}, {"//": "a comment", "a": "%{ for x in [1] }${x}%{ endfor }"}]',
]

function scope(): Scope {
  const variables = { var: { x: 1, text: 'ab', list: [1, 'two', null] }, local: { y: true } }
  return createScope({
    variables,
    isDeferred: (root) => root === 'attr',
    limits: { stepsMax: STEPS_MAX },
  })
}

type Parse<T> = (text: string, file: string) => Result<T, readonly Diagnostic[]>

function readBody(parseText: Parse<Body>) {
  return (text: string): string => {
    const body = parseText(text, 'input')
    if (!body.ok) return refused(text, body.error)
    const value = bodyToValue(body.value, { scope: scope() })
    if (!value.ok) return refused(text, value.error)
    toJson(value.value)
    return 'read'
  }
}

function readExpression(parseText: Parse<Expression>) {
  return (text: string): string => {
    const expression = parseText(text, 'input')
    if (!expression.ok) return refused(text, expression.error)
    const value = evaluate(expression.value, scope())
    return value.ok ? 'read' : refused(text, value.error)
  }
}

function refused(text: string, problems: readonly Diagnostic[]): string {
  if (problems.length === 0) throw new Error('refused without a problem')
  if (!/^input:\d+,\d+/.test(formatDiagnostics(text, problems)))
    throw new Error('a problem has no place')
  return 'refused'
}

const changed = (texts: readonly string[]) => (draw: RandomSource) =>
  mutate(texts, draw, LENGTH_MAX)

runFuzzTargets('hcl', [
  { name: 'expressions', generate: changed(EXPRESSIONS), run: readExpression(parseExpression) },
  { name: 'templates', generate: changed(TEMPLATES), run: readExpression(parseTemplate) },
  { name: 'bodies', generate: changed(BODIES), run: readBody(parseHcl) },
  { name: 'JSON', generate: changed(JSON_BODIES), run: readBody(parseHclJson) },
  { name: 'HCL 1', generate: changed([...BODIES, ...JSON_BODIES]), run: readBody(parseHcl1) },
])
