import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluateText, type Asked } from '../../test/evaluate-text.ts'

interface Case extends Asked {
  readonly name: string
  readonly rules: string
  readonly document?: string
  readonly gives: string
}

const cases: readonly Case[] = [
  {
    name: 'two values of one rule contradict each other',
    rules: 'p := 1 if true\np := 2 if true',
    gives: 'eval_conflict_error',
  },
  { name: 'a default fills in', rules: 'default p := false\np if input.x', gives: 'false' },
  {
    name: 'unification binds on both sides',
    rules: 'p := [x, y] if [x, 2] = [1, y]',
    gives: '[1,2]',
  },
  {
    name: 'unification finds the part that can run first',
    rules: 'p := [x, y] if [y, x] = [x, 1]',
    gives: '[1,1]',
  },
  {
    name: 'equal numbers are one member',
    rules: 'p contains x if some x in [1, 1.0, 2]',
    gives: '[1,2]',
  },
  {
    name: 'a minus turns references, variables and calls',
    rules: 'p := [-input.n, [-y | some y in [1, -2]], 2*-input.a[0], -count([1]) + 3]',
    input: { n: 5, a: [7] },
    gives: '[-5,[-1,2],-14,2]',
  },
  {
    name: 'a minus before what is no number is undefined',
    rules: 'p := -input.n',
    input: { n: 'a' },
    gives: 'undefined',
  },
  {
    name: 'metadata of an entrypoint is that of the document',
    rules:
      '# METADATA\n# entrypoint: true\np := [m.annotations.scope | some m in rego.metadata.chain()]',
    gives: '["document"]',
  },
  { name: 'a set without members is defined', rules: 'p contains 1 if false', gives: '[]' },
  { name: 'not succeeds on what is undefined', rules: 'p if not input.missing', gives: 'true' },
  {
    name: 'a comparison with what is undefined fails',
    rules: 'p if input.missing != 1',
    gives: 'undefined',
  },
  {
    name: 'not evaluates nested terms before, so outside of it',
    rules: 'p if not count(input.missing) > 0',
    gives: 'undefined',
  },
  {
    name: 'not of a comparison for equality compares inside',
    rules: 'p if not input.missing == 1',
    gives: 'true',
  },
  {
    name: 'scoped not evaluates everything inside',
    rules: 'import future.keywords.not\np if not count(input.missing) > 0',
    gives: 'true',
  },
  {
    name: 'every holds for an empty domain',
    rules: 'p if every x in [] { x == 1 }',
    gives: 'true',
  },
  {
    name: 'every needs a domain',
    rules: 'p if every x in input.xs { x == 1 }',
    gives: 'undefined',
  },
  {
    name: 'a function without a fitting definition is undefined',
    rules: 'f(x) := 1 if x > 0\nf(x) := 2 if x < 0\np := f(0)',
    gives: 'undefined',
  },
  {
    name: 'else is tried in order',
    rules: 'p := "a" if input.n > 10\nelse := "b" if input.n > 5\nelse := "c"',
    input: { n: 7 },
    gives: '"b"',
  },
  {
    name: 'with replaces a part of the input',
    rules: 'q if input.a == 1\np if q with input.a as 1',
    gives: 'true',
  },
  {
    name: 'with replaces a function by a value',
    rules: 'p := n if { n := count([1]) with count as 5 }',
    gives: '5',
  },
  {
    name: 'with replaces a document',
    rules: 'q := 1\np := x if x := q with data.t.q as 2',
    gives: '2',
  },
  {
    name: 'with ends after its literal',
    rules: 'q := input.a\np := [x, y] if { x := q with input.a as 1; y := q }',
    input: { a: 2 },
    gives: '[1,2]',
  },
  {
    name: 'literals are put into an order that can run',
    rules: 'p if { x > 1; x = 2 }',
    gives: 'true',
  },
  {
    name: 'a reference head makes objects',
    rules: 'p.b[x] := 1 if some x in ["u", "v"]',
    gives: '{"b":{"u":1,"v":1}}',
  },
  {
    name: 'documents below a computed key are entries of the same object',
    rules: 'p[q].r := i if q := ["a", "b"][i]\np.a.r := 0\np.c := 4',
    gives: '{"a":{"r":0},"b":{"r":1},"c":4}',
  },
  {
    name: 'computed keys may contradict constant ones',
    rules: 'p[q] := 1 if q := "a"\np.a := 2',
    gives: 'eval_conflict_error',
  },
  {
    name: 'in with a key needs parentheses in a list',
    rules: 'p := [1 in {"k": 1}, "k" in {"k": 1}, ("k", 1 in {"k": 1})]',
    gives: '[true,false,true]',
  },
  {
    name: 'a template prints what is undefined',
    rules: 'p := $"v={input.m} {[1, "a"]} \\{x}"',
    gives: '"v=<undefined> [1, \\"a\\"] {x}"',
  },
  {
    name: 'kinds are ordered',
    rules: 'p if { null < false; 1 < "a"; "a" < [1]; [1] < {}; {} < set() }',
    gives: 'true',
  },
  {
    name: 'walk visits every value',
    rules: 'p contains path if walk({"a": [1]}, [path, _])',
    gives: '[[],["a"],["a",0]]',
  },
  {
    name: 'large whole numbers are exact',
    rules: 'p := 9007199254740993 + 0',
    gives: '9007199254740993',
  },
  {
    name: 'fractions are rounded as the peers do',
    rules: 'p := [0.1 + 0.2, 1 / 3, 10 / 4]',
    gives: '[0.3,0.33333333333333333334,2.5]',
  },
  { name: 'minus binds tighter than union', rules: 'p := {1, 2} | {3} - {1}', gives: '[1,2,3]' },
  { name: 'only false and undefined fail', rules: 'p if { 0; ""; null; [] }', gives: 'true' },
  { name: 'false fails', rules: 'p if false', gives: 'undefined' },
  {
    name: 'keys that are no strings become text',
    rules: 'p := {x: y | some x, y in ["a"]}',
    gives: '{"0":"a"}',
  },
  {
    name: 'equal keys with different values contradict each other',
    rules: 'p := {"a": y | some y in [1, 2]}',
    gives: 'eval_conflict_error',
  },
  {
    name: 'rules and base data are one tree',
    rules: 'p := 1',
    document: 'data',
    data: { t: { q: 2 }, u: 3 },
    gives: '{"t":{"p":1,"q":2},"u":3}',
  },
  {
    name: 'a reference may go through packages',
    rules: 'q := 1\np contains k if data[k].q',
    gives: '["t"]',
  },
  {
    name: 'version 0 has bodies without if',
    rules: 'p[x] { x := ["a", "b"][_] }',
    version: 0,
    gives: '["a","b"]',
  },
  {
    name: 'version 0 has several bodies',
    rules: 'p = 1 { false } { true }',
    version: 0,
    gives: '1',
  },
  {
    name: 'a message for each hit',
    rules: 'p contains m if { r := input.rs[_]; r.acts[_] == "delete"; m := r.at }',
    input: {
      rs: [
        { acts: ['delete'], at: 'x' },
        { acts: ['no-op'], at: 'y' },
        { acts: ['delete', 'create'], at: 'x' },
      ],
    },
    gives: '["x"]',
  },
  {
    name: 'and, or and groups',
    rules:
      'import future.keywords.and\nimport future.keywords.or\np if (input.a or input.b) and not input.c',
    input: { b: true },
    gives: 'true',
  },
  {
    name: 'bodies that follow one another are alternatives',
    rules: 'p := 1 if { input.a } { input.b }',
    input: { b: true },
    gives: '1',
  },
  { name: 'test.sleep does not wait', rules: 'p := test.sleep("24h")', gives: 'null' },
  {
    name: 'or counts once',
    rules: 'import future.keywords.or\np := [1 | true or true]',
    gives: '[1]',
  },
]

for (const c of cases)
  test(`rego: ${c.name}`, () => {
    assert.equal(evaluateText(c.rules, c.document ?? 'data.t.p', c), c.gives)
  })

test('rego: a comprehension that is run for each group is indexed and stays the same', () => {
  const list = Array.from({ length: 300 }, (_, at) => ({ k: `k${at % 30}`, v: at }))
  const rules = `
p := {k: vs | some e in input.list; k := e.k; vs := [f.v | some f in input.list; f.k == k]}
q := {k: vs | some k in {e.k | some e in input.list}; vs := [e.v | e := input.list[_]; k == e.k]}`
  const byKey = Object.groupBy(list, ({ k }) => k)
  const wanted = JSON.stringify(
    Object.fromEntries(
      Object.keys(byKey)
        .toSorted()
        .map((key) => [key, byKey[key]?.map(({ v }) => v)]),
    ),
  )
  assert.equal(evaluateText(rules, 'data.t.p', { input: { list } }), wanted)
  assert.equal(evaluateText(rules, 'data.t.q', { input: { list } }), wanted)
})

test('rego: rules found by an index give what all of them would', () => {
  const rules = Array.from(
    { length: 50 },
    (_, at) => `p contains ${at} if { input.a == ${at % 5}; input.b == "b${at % 3}" }`,
  )
  const all = `${rules.join('\n')}\np contains "any" if input.a\nf(1) := "one"\nf(2) := "two"\nf(x) := "big" if x > 2\nf(0) := "none"\nq := [f(i) | some i in [0, 1, 2, 3]]`
  const wanted = [...Array(50).keys()].filter((at) => at % 5 === 2 && at % 3 === 1)
  const input = { a: 2, b: 'b1' }
  assert.equal(evaluateText(all, 'data.t.p', { input }), JSON.stringify([...wanted, 'any']))
  assert.equal(evaluateText(all, 'data.t.p', {}), '[]')
  assert.equal(evaluateText(all, 'data.t.q', {}), '["none","one","two","big"]')
})

test('rego: functions that call functions twice do not take twice the time at every level', () => {
  const levels = Array.from({ length: 60 }, (_, at) => `f${at}(x) := f${at + 1}(x) + f${at + 1}(x)`)
  const rules = `${levels.join('\n')}\nf60(x) := 1 if x.a\np := f0(input)`
  assert.equal(evaluateText(rules, 'data.t.p', { input: { a: 1 } }), String(2n ** 60n))
})

test('rego: null is a value everywhere', () => {
  const rules = `f(x) := null if x
p := [data.b.n, [f(i) | some i in numbers.range(1, 40)] == [null | some i in numbers.range(1, 40)]]
q := {data.b.n, input.n, {"k": null}.k, g} if g := null`
  const asked = { data: { b: { n: null } }, input: { n: null } }
  assert.equal(evaluateText(rules, 'data.t.p', asked), '[null,true]')
  assert.equal(evaluateText(rules, 'data.t.q', asked), '[null]')
})

test('rego: metadata is known to the rule it stands before', () => {
  const rules =
    '# METADATA\n# title: T\n# custom:\n#   severity: HIGH\np := rego.metadata.rule().custom.severity'
  assert.equal(evaluateText(rules, 'data.t.p'), '"HIGH"')
})
