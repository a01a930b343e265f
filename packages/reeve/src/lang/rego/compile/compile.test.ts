import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compilePolicies } from '../evaluate/policies.ts'

const cases = [
  {
    name: 'a variable that nothing binds',
    text: 'p if x > 1',
    code: 'rego_unsafe_var_error',
    at: [2, 6],
  },
  {
    name: 'a right side bound only by the left',
    text: 'p if { x := y; x = 7 }',
    code: 'rego_unsafe_var_error',
    at: [2, 13],
  },
  {
    name: 'a variable only inside not',
    text: 'p if not input.a[x] == 1',
    code: 'rego_unsafe_var_error',
    at: [2, 18],
  },
  {
    name: 'a head variable that the body does not bind',
    text: 'p := x if true',
    code: 'rego_unsafe_var_error',
    at: [2, 6],
  },
  {
    name: 'two assignments',
    text: 'p if { x := 1; x := 2 }',
    code: 'rego_compile_error',
    at: [2, 16],
  },
  {
    name: 'an assignment after use',
    text: 'p if { x > 0; x := 2 }',
    code: 'rego_compile_error',
    at: [2, 15],
  },
  {
    name: 'a declared name that is not used',
    text: 'p if { some x; true }',
    code: 'rego_compile_error',
    at: [2, 13],
  },
  { name: 'rules in a circle', text: 'p if q\nq if p', code: 'rego_recursion_error', at: [3, 6] },
  {
    name: 'a function that nobody defines',
    text: 'p := f(1)',
    code: 'rego_type_error',
    at: [2, 6],
  },
  {
    name: 'a wrong number of operands',
    text: 'f(x) := x\np := f(1, 2) + 1',
    code: 'rego_type_error',
    at: [3, 6],
  },
  { name: 'operands that never fit', text: 'p := 1 + "a"', code: 'rego_type_error', at: [2, 6] },
  {
    name: 'a rule that is a set and a value',
    text: 'p contains 1\np := 2',
    code: 'rego_type_error',
    at: [3, 1],
  },
  {
    name: 'two defaults',
    text: 'default p := 1\ndefault p := 2',
    code: 'rego_type_error',
    at: [3, 9],
  },
  {
    name: 'a default that is computed',
    text: 'default p := input.x',
    code: 'rego_parse_error',
    at: [2, 14],
  },
  {
    name: 'with on a part of a rule',
    text: 'q := {"a": 1}\np if q.a with data.t.q.a as 2',
    code: 'rego_compile_error',
    at: [3, 15],
  },
  {
    name: 'with on a variable',
    text: 'p if { x := 1; x == 1 with x as 2 }',
    code: 'rego_type_error',
    at: [2, 28],
  },
  { name: 'a body without if', text: 'p { true }', code: 'rego_parse_error', at: [2, 3] },
  { name: 'a builtin of version 0', text: 'p := any([true])', code: 'rego_type_error', at: [2, 6] },
  {
    name: 'metadata that is no YAML',
    text: '# METADATA\n# title: [\np := 1',
    code: 'rego_parse_error',
    at: [2, 1],
  },
] as const

for (const c of cases)
  test(`compile refuses ${c.name}`, () => {
    const compiled = compilePolicies({
      modules: [{ file: 'a.rego', text: `package t\n${c.text}\n` }],
      version: 1,
    })
    assert.ok(!compiled.ok)
    const [problem] = compiled.error
    assert.equal(problem?.code, c.code)
    const { location } = problem
    assert.deepEqual([location.file, location.row, location.column], ['a.rego', ...c.at])
  })

test('compile detects the version of each module', () => {
  const compiled = compilePolicies({
    modules: [
      { file: 'old.rego', text: 'package a\np[x] { x := 1 }' },
      { file: 'new.rego', text: 'package b\np contains x if x := 1' },
    ],
    version: 'detect',
  })
  assert.ok(compiled.ok)
  assert.deepEqual(
    [...compiled.value.versions],
    [
      ['old.rego', 0],
      ['new.rego', 1],
    ],
  )
})

test('compile reports the problem of version 1 when neither version can read a module', () => {
  const compiled = compilePolicies({
    modules: [{ file: 'a.rego', text: 'package a\np if {' }],
    version: 'detect',
  })
  assert.ok(!compiled.ok)
  assert.equal(compiled.error[0]?.location.row, 2)
})

test('compile joins modules of one package', () => {
  const compiled = compilePolicies({
    modules: [
      { file: 'a.rego', text: 'package a\np := q + 1' },
      { file: 'b.rego', text: 'package a\nq := 1' },
    ],
    version: 1,
  })
  assert.ok(compiled.ok)
  const document = compiled.value.document('data.a.p')
  assert.ok(document.ok)
  assert.deepEqual(document.value.evaluate({}), { ok: true, value: 2 })
})
