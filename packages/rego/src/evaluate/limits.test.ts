import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluateText } from '../../test/evaluate-text.ts'

const ENDLESS =
  'p := count([1 | some a in xs; some b in xs; some c in xs; some d in xs])\nxs := numbers.range(1, 200)'

test('limits: an evaluation ends when its steps are used up', () => {
  const options = { limits: { stepsMax: 100_000 } }
  assert.equal(evaluateText(ENDLESS, 'data.t.p', { options }), 'eval_limit_error')
})

test('limits: an evaluation ends when its caller cancels it', () => {
  let asked = 0
  const options = { isCancelled: () => ++asked > 3 }
  assert.equal(evaluateText(ENDLESS, 'data.t.p', { options }), 'eval_cancel_error')
})

test('limits: a long chain of rules is refused, not a crash', () => {
  const chain = Array.from({ length: 3000 }, (_, at) => `r${at} := r${at + 1}`)
  assert.equal(evaluateText(`${chain.join('\n')}\nr3000 := 1`, 'data.t.r0'), 'eval_limit_error')
})

test('limits: a long body runs', () => {
  const body = Array.from({ length: 900 }, (_, at) => `x${at} := ${at}`)
  assert.equal(evaluateText(`p if {\n${body.join('\n')}\n}`, 'data.t.p'), 'true')
})

test('limits: numbers do not grow without end', () => {
  const squares = Array.from({ length: 40 }, (_, at) => `x${at + 1} := x${at} * x${at}`)
  assert.equal(evaluateText(`x0 := 12345\n${squares.join('\n')}`, 'data.t.x40'), 'undefined')
})

test('limits: values that share their parts are not written out without end', () => {
  const doubled = Array.from({ length: 60 }, (_, at) => `x${at + 1} := [x${at}, x${at}]`)
  const twice = `x0 := [1]\ny0 := [1]\n${doubled.join('\n')}\n${doubled.join('\n').replaceAll('x', 'y')}`
  assert.equal(evaluateText(`${twice}\np if x60 == y60`, 'data.t.p'), 'eval_limit_error')
  assert.equal(evaluateText(`${twice}\np := {x60}`, 'data.t.p'), 'eval_limit_error')
})

test('limits: input keys are data, whatever their names', () => {
  const input: unknown = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}')
  // The text is written right here.
  const asked = { input: input as Record<string, never> }
  assert.equal(evaluateText('p if input.admin', 'data.t.p', asked), 'undefined')
  assert.equal(evaluateText('p := input["__proto__"].admin', 'data.t.p', asked), 'true')
  assert.equal(evaluateText('p := input.toString', 'data.t.p', asked), 'undefined')
})

test('limits: equal inputs give equal results, in the same order', () => {
  const rules = 'p := [k | some k, _ in input]'
  const one = evaluateText(rules, 'data.t.p', { input: { b: 1, a: 2, '10': 3, '9': 4 } })
  const other = evaluateText(rules, 'data.t.p', { input: { '9': 4, a: 2, b: 1, '10': 3 } })
  assert.equal(one, '["10","9","a","b"]')
  assert.equal(other, one)
})
