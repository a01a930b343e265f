import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRego } from '../evaluate/program.ts'
import { toJson } from '../value/json.ts'

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
  {
    name: 'a name of every that is not used',
    text: 'p if every x in [1] { true }',
    code: 'rego_compile_error',
    at: [2, 12],
  },
  {
    name: 'a key of every that is not used',
    text: 'p if every k, v in [1] { v == 1 }',
    code: 'rego_compile_error',
    at: [2, 12],
  },
  {
    name: 'imports of one name',
    text: 'import data.a\nimport data.b as a',
    code: 'rego_compile_error',
    at: [3, 1],
  },
  {
    name: 'an import twice',
    text: 'import data.a\nimport data.a',
    code: 'rego_compile_error',
    at: [3, 1],
  },
  {
    name: 'an import called input',
    text: 'import data.a as input',
    code: 'rego_parse_error',
    at: [2, 18],
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
    name: 'a set with entries of an object',
    text: 'p contains 1\np[2] := 3',
    code: 'rego_type_error',
    at: [2, 1],
  },
  {
    name: 'a rule inside the value of another',
    text: 'p.a.b := 1\np.a := {"c": 2}',
    code: 'rego_type_error',
    at: [3, 1],
  },
  {
    name: 'a set inside the value of another rule',
    text: 'p.a contains 1\np := 5',
    code: 'rego_type_error',
    at: [3, 1],
  },
  {
    name: 'a rule inside a set',
    text: 'p.a.b := 1\np.a contains 5',
    code: 'rego_type_error',
    at: [3, 1],
  },
  {
    name: 'a rule inside a function',
    text: 'p.a(x) := x\np.a.b := 1',
    code: 'rego_type_error',
    at: [2, 1],
  },
  {
    name: 'a rule with a computed key inside the value of another',
    text: 'p.a[x] := 1 if some x in ["k"]\np := {}',
    code: 'rego_type_error',
    at: [3, 1],
  },
  {
    name: 'a rule inside a default',
    text: 'default p := 1\np.q := 2',
    code: 'rego_type_error',
    at: [2, 9],
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
  {
    name: 'metadata of an unknown scope',
    text: '# METADATA\n# scope: nope\np := 1',
    code: 'rego_parse_error',
    at: [2, 1],
  },
  {
    name: 'metadata of a package at a rule',
    text: '# METADATA\n# scope: package\np := 1',
    code: 'rego_parse_error',
    at: [2, 1],
  },
] as const

for (const c of cases)
  test(`compile refuses ${c.name}`, () => {
    const compiled = compileRego({
      modules: [{ file: 'a.rego', text: `package t\n${c.text}\n` }],
      version: 1,
    })
    assert.ok(!compiled.ok)
    const [problem] = compiled.error
    assert.equal(problem?.code, c.code)
    const { location } = problem
    assert.deepEqual([location.file, location.row, location.column], ['a.rego', ...c.at])
  })

test('compile takes an import twice in version 0', () => {
  const text = 'package a\nimport data.b\nimport data.c as b\np { b }'
  assert.ok(compileRego({ modules: [{ file: 'a.rego', text }], version: 0 }).ok)
})

test('compile takes every without names', () => {
  const text = 'package a\np if every _, _ in input.xs { input.ok }'
  assert.ok(compileRego({ modules: [{ file: 'a.rego', text }], version: 1 }).ok)
})

test('compile detects the version of each module', () => {
  const compiled = compileRego({
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
  const compiled = compileRego({
    modules: [{ file: 'a.rego', text: 'package a\np if {' }],
    version: 'detect',
  })
  assert.ok(!compiled.ok)
  assert.equal(compiled.error[0]?.location.row, 2)
})

test('compile names both rules of a conflict, whichever package they are in', () => {
  const compiled = compileRego({
    modules: [
      { file: 'a.rego', text: 'package a\nb := 1' },
      { file: 'b.rego', text: 'package a.b.c\n\nd := 2' },
    ],
    version: 1,
  })
  assert.ok(!compiled.ok)
  assert.equal(
    compiled.error[0]?.message,
    'rule data.a.b conflicts with rule data.a.b.c.d at b.rego:3',
  )
})

test('compile takes rules inside what has computed keys', () => {
  const compiled = compileRego({
    modules: [
      { file: 'a.rego', text: 'package a\nb[x] := 1 if some x in ["u"]\nb.v.w := 2' },
      { file: 'b.rego', text: 'package a.b\nc := 3' },
    ],
    version: 1,
  })
  assert.ok(compiled.ok)
  const document = compiled.value.prepareDocument('data.a.b')
  assert.ok(document.ok)
  const value = document.value.evaluate({})
  assert.ok(value.ok && value.value !== undefined)
  assert.deepEqual(toJson(value.value), { u: 1, v: { w: 2 }, c: 3 })
})

test('compile joins modules of one package', () => {
  const compiled = compileRego({
    modules: [
      { file: 'a.rego', text: 'package a\np := q + 1' },
      { file: 'b.rego', text: 'package a\nq := 1' },
    ],
    version: 1,
  })
  assert.ok(compiled.ok)
  const document = compiled.value.prepareDocument('data.a.p')
  assert.ok(document.ok)
  assert.deepEqual(document.value.evaluate({}), { ok: true, value: 2 })
})
