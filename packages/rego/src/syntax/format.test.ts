import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { haveCases, readCases } from '../../test/cases.ts'
import { formatRego } from './format.ts'
import { isSameProgram } from './parse-literal.ts'
import { parseModule } from './parse.ts'
import { Source } from './source.ts'

/** Texts after `package a`, and what they become. */
const CASES: readonly (readonly [name: string, text: string, formatted: string])[] = [
  ['spaces stand around operators', 'p:=1+2*-3', 'p := 1 + 2 * -3'],
  ['a minus before a name is an operator', 'p := a -b', 'p := a - b'],
  ['a minus with nothing before it is a sign', 'p:=- a*- f( 1 )', 'p := -a * -f(1)'],
  ['no spaces inside brackets', 'p := [ 1,{ "a":2 } ]', 'p := [1, {"a": 2}]'],
  ['empty brackets are close', 'p := [ { }, set( ) ]', 'p := [{}, set()]'],
  ['calls and references are close', 'p := f( x )[ y ].z', 'p := f(x)[y].z'],
  ['a short body may stay on its line', 'p if{x}', 'p if { x }'],
  [
    'literals of a longer body have lines of their own',
    'p if { a; b;c }',
    'p if {\n\ta\n\tb\n\tc\n}',
  ],
  ['a body that was broken is indented', 'p if { a\n      b }', 'p if {\n\ta\n\tb\n}'],
  [
    'what holds a broken body is broken',
    'p if { every x in xs { a; b } }',
    'p if {\n\tevery x in xs {\n\t\ta\n\t\tb\n\t}\n}',
  ],
  [
    'a semicolon stays where a minus would become an operator',
    'p if { a; -1 }',
    'p if {\n\ta; -1\n}',
  ],
  ['comprehensions stay on their line', 'p := [x|x=1;y]', 'p := [x | x = 1; y]'],
  [
    'comprehensions on several lines are indented',
    'p := {x:y |\nx = 1;\ny = 2\n}',
    'p := {x: y |\n\tx = 1\n\ty = 2\n}',
  ],
  ['`else` stands behind the brace', 'p if {\na\n}\nelse := 2', 'p if {\n\ta\n} else := 2'],
  [
    'a rule may be called like `else`',
    'p if {\na\n}\nelse.b := 2',
    'p if {\n\ta\n}\n\nelse.b := 2',
  ],
  ['the brace stands behind `if`', 'p if\n{\na\n}', 'p if {\n\ta\n}'],
  ['a continued line is indented', 'p := a +\nb', 'p := a +\n\tb'],
  [
    'modifiers go on',
    'p if {\na with input as 1\nwith data.b as 2\n}',
    'p if {\n\ta with input as 1\n\t\twith data.b as 2\n}',
  ],
  ['brackets of one line are one level', 'p := f({\n"a": 1\n})', 'p := f({\n\t"a": 1\n})'],
  ['blank lines are at most one', 'p := 1\n\n\n\nq := 2', 'p := 1\n\nq := 2'],
  ['none begins or ends a body', 'p if {\n\na\n\n}', 'p if {\n\ta\n}'],
  ['a blank line follows a body', 'p if {\na\n}\n# q\nq := 1', 'p if {\n\ta\n}\n\n# q\nq := 1'],
  [
    'a blank line follows imports, before the remark of what comes',
    'import data.b\nimport data.c\n# p\np := 1',
    'import data.b\nimport data.c\n\n# p\np := 1',
  ],
  [
    'comments stay where they are',
    'p if { # why\na; # that\n # and\nb }#end',
    'p if { # why\n\ta # that\n\t# and\n\tb\n} #end',
  ],
  [
    'raw strings and templates are left alone',
    'p := `a\n   b`\nq := $"{ x }"',
    'p := `a\n   b`\nq := $"{ x }"',
  ],
  ['several bodies of version 0', 'p[x] { a } {\nb }', 'p[x] { a } {\n\tb\n}'],
  [
    'bodies of logic operators',
    'import future.keywords.and\np if {\n{ a;b }and{ c }\n}',
    'import future.keywords.and\n\np if {\n\t{\n\t\ta\n\t\tb\n\t} and { c }\n}',
  ],
  ['carriage returns go', 'p := 1\r\nq := 2\r\n', 'p := 1\nq := 2'],
]

for (const [name, text, formatted] of CASES)
  test(`format: ${name}`, () => {
    const wanted = `package a\n\n${formatted}\n`
    assert.deepEqual(formatRego('p.rego', `package a\n${text}`), { ok: true, value: wanted })
    assert.deepEqual(formatRego('p.rego', wanted), { ok: true, value: wanted })
  })

test('format: a text that cannot be read is refused as version 1 sees it', () => {
  const found = formatRego('p.rego', 'package a\np if {')
  assert.ok(!found.ok)
  assert.equal(found.error.location.row, 2)
})

/** A seventh of the texts, which is all kinds of them: this test is run often. */
const STRIDE = 7

test('format: what is formatted stays as it is, for cases of the language', () => {
  if (!haveCases()) return
  const texts = new Set(readCases(1).flatMap(({ modules }) => modules))
  for (const text of [...texts].filter((_, at) => at % STRIDE === 0)) {
    const once = formatRego('p.rego', text)
    if (once.ok) assert.deepEqual(formatRego('p.rego', once.value), once, text)
  }
})

test('format: white space of any kind between tokens gives the same text', () => {
  const tokens = [
    'p',
    ' ',
    'contains',
    ' ',
    'x',
    ' ',
    'if',
    '{',
    'x',
    ':=',
    '1',
    ';',
    'x',
    '==',
    '2',
    '}',
  ]
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('', ' ', '  ', '\t'), { minLength: 16, maxLength: 16 }),
      (gaps) => {
        const text = tokens.map((token, at) => `${token}${gaps[at] ?? ''}`).join('')
        const found = formatRego('p.rego', `package a\n${text}`)
        assert.deepEqual(found, {
          ok: true,
          value: 'package a\n\np contains x if {\n\tx := 1\n\tx == 2\n}\n',
        })
      },
    ),
  )
})

test('haveSameMeaning: places do not count, remarks and terms do', () => {
  const read = (text: string) => {
    const module = parseModule(new Source('p.rego', `package a\n${text}`), 1)
    assert.ok(module.ok)
    return module.value
  }
  const base = read('p := 1 # x')
  assert.ok(isSameProgram(base, read('\n\np   := 1 # x')))
  for (const other of ['p := 2 # x', 'p := 1 # y', 'p := [1] # x', 'q := 1 # x'])
    assert.ok(!isSameProgram(base, read(other)), other)
})
