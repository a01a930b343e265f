import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseModule } from './parse.ts'
import { Source } from './source.ts'

function parse(text: string, version: 0 | 1 = 1) {
  return parseModule(new Source('a.rego', `package a\n${text}`), version)
}

const shapes = [
  { name: 'a value', text: 'p := 1', path: 1, member: false, goals: 0 },
  { name: 'a condition', text: 'p if { a; b\n c }', path: 1, member: false, goals: 3 },
  { name: 'a set', text: 'p contains 1 if a', path: 1, member: true, goals: 1 },
  { name: 'a key', text: 'p[x] if x := 1', path: 2, member: false, goals: 1 },
  { name: 'a long path', text: 'p.q["r s"][x] := 2 if x = 1', path: 4, member: false, goals: 1 },
  { name: 'keywords in paths', text: 'p.if.contains := 1', path: 3, member: false, goals: 0 },
  { name: 'a keyword as the first name', text: 'else.in := 1', path: 2, member: false, goals: 0 },
]
for (const c of shapes)
  test(`parse: ${c.name}`, () => {
    const parsed = parse(c.text)
    assert.ok(parsed.ok)
    const [rule] = parsed.value.rules
    assert.equal(rule?.path.length, c.path)
    assert.equal(rule?.member !== undefined, c.member)
    assert.equal(rule?.body.length, c.goals)
  })

const old = [
  { name: 'p[x] adds to a set', text: 'p[x] { x := 1 }', path: 1, member: true },
  { name: 'p.x adds to a set', text: 'p.x { true }', path: 1, member: true },
  { name: 'a longer path does not', text: 'p.q[x] { x := 1 }', path: 3, member: false },
  {
    name: 'nor does if',
    text: 'import future.keywords.if\np[x] if { x := 1 }',
    path: 2,
    member: false,
  },
]
for (const c of old)
  test(`parse version 0: ${c.name}`, () => {
    const parsed = parse(c.text, 0)
    assert.ok(parsed.ok)
    const [rule] = parsed.value.rules
    assert.equal(rule?.path.length, c.path)
    assert.equal(rule?.member !== undefined, c.member)
  })

const refused = [
  { name: 'a body without if', text: 'p { true }', at: [2, 3] },
  { name: 'two literals on one line', text: 'p if { a b }', at: [2, 10] },
  { name: 'a string over the line end', text: 'p := "a\n"', at: [2, 6] },
  { name: 'an unknown escape', text: 'p := "\\x"', at: [2, 7] },
  { name: 'an import from nowhere', text: 'import foo.bar', at: [2, 1] },
  { name: 'an unknown keyword', text: 'import future.keywords.foo', at: [2, 1] },
  { name: 'a name and nothing else', text: 'p', at: [2, 1] },
  { name: 'a number with letters', text: 'p := 1a', at: [2, 6] },
  { name: 'else on a set', text: 'p contains 1 if false else := 2', at: [2, 23] },
  { name: 'a minus before a text', text: 'p := -"a"', at: [2, 7] },
  { name: 'a minus before true', text: 'p := -true', at: [2, 7] },
  { name: 'two minuses', text: 'p := --x', at: [2, 7] },
  { name: 'commas between the literals of a body', text: 'p if { true, true }', at: [2, 19] },
  { name: 'a set as a body', text: 'p if { 1, 2 }', at: [2, 13] },
  { name: 'a body after else', text: 'p := 1 if { a } else := 2 { b }', at: [2, 27] },
  { name: 'not before some', text: 'p if not some x', at: [2, 10] },
] as const
for (const c of refused)
  test(`parse refuses ${c.name}`, () => {
    const parsed = parse(c.text)
    assert.ok(!parsed.ok)
    const { row, column } = parsed.error.location
    assert.deepEqual([row, column], c.at)
  })

test('parse: rego.v1 makes a module of version 0 one of version 1', () => {
  assert.ok(!parse('import rego.v1\np { true }', 0).ok)
  assert.ok(parse('import rego.v1\np if true', 0).ok)
})

test('parse: a byte order mark at the start is skipped', () => {
  assert.ok(parseModule(new Source('a.rego', '\ufeffpackage a\np := 1'), 1).ok)
  assert.ok(!parse('p := \ufeff1').ok)
})

test('parse: bodies may follow one another, also with if', () => {
  for (const text of ['p := 1 if { a } { b }', 'p contains 1 if a { b }', 'p if { a }\n{ b }']) {
    const parsed = parse(text)
    assert.ok(parsed.ok, text)
    assert.deepEqual(
      parsed.value.rules.map(({ body }) => body.length),
      [1, 1],
      text,
    )
  }
})

test('parse: imports may stand between and after rules', () => {
  const parsed = parse('p := 1\nimport data.x\nq := x.y\nimport data.z as w\n')
  assert.ok(parsed.ok)
  assert.deepEqual(
    parsed.value.imports.map(({ path, alias }) => [path.join('.'), alias]),
    [
      ['data.x', undefined],
      ['data.z', 'w'],
    ],
  )
  assert.equal(parsed.value.rules.length, 2)
})
