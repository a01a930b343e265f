import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compileFilter, type FilterOptions } from './compile.ts'
import { fieldTypeFromSchema } from './field-type.ts'

const nullable = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })
const mapOf = (schema: object) => ({ type: 'object', patternProperties: { '^.*$': schema } })
const listOf = (schema: object) => ({ type: 'array', items: schema })
const record = (properties: object) => ({ type: 'object', properties })
const text = { type: 'string' }
const integer = { type: 'integer' }

/** A record with a field of every type, and a matching row. */
const kinds = fieldTypeFromSchema(
  record({
    Text: text,
    Integer: integer,
    Float: { type: 'number' },
    Boolean: { type: 'boolean' },
    Time: { type: 'string', format: 'date-time' },
    List: listOf(text),
    NullList: nullable(listOf(text)),
    Map: mapOf(text),
    NullMap: nullable(mapOf(text)),
    Struct: nullable(record({ Text: text })),
    NullStruct: nullable(record({ Text: text })),
    Bytes: { type: 'string', contentEncoding: 'base64' },
    NullBytes: nullable({ type: 'string', contentEncoding: 'base64' }),
    NullTime: nullable({ type: 'string', format: 'date-time' }),
    NullBoolean: nullable({ type: 'boolean' }),
    SetBoolean: nullable({ type: 'boolean' }),
    Integers: listOf(integer),
    Structs: listOf(record({ Name: text, Count: integer, Tags: nullable(listOf(text)) })),
    ByName: mapOf(record({ State: text })),
    Free: mapOf({}),
    SecretID: text,
  }),
)
const row = {
  Text: 'web-1',
  Integer: 50,
  Float: 2.5,
  Boolean: true,
  Time: '2026-01-02T03:04:05Z',
  List: ['dc1', 'dc2'],
  NullList: null,
  Map: { team: 'core', empty: '' },
  NullMap: null,
  Struct: { Text: 'x' },
  NullStruct: null,
  Bytes: 'aGVsbG8=',
  NullBytes: null,
  NullTime: null,
  NullBoolean: null,
  SetBoolean: false,
  Integers: [80, 443],
  Structs: [
    { Name: 'a', Count: 0, Tags: ['x'] },
    { Name: 'b', Count: 3, Tags: null },
  ],
  ByName: { web: { State: 'running' }, db: { State: 'dead' } },
  Free: {
    n: 5,
    f: 1.5,
    s: 'x',
    b: true,
    l: [1, 'one', null, true],
    o: { in: { deep: 1 } },
    z: null,
  },
  SecretID: 'hush',
}

type Outcome = boolean | string

function outcome(
  filter: string,
  datum: unknown = row,
  options: FilterOptions = { rowType: kinds },
): Outcome {
  const compiled = compileFilter(filter, options)
  assert.ok(compiled.ok, compiled.ok ? '' : compiled.error.message)
  const result = compiled.value.matches(datum)
  if (result.ok) return result.value
  assert.equal(result.error.code, 'filter-failed')
  return result.error.message
}

function noField(pointer: string, part: number): string {
  const name = pointer.slice(pointer.lastIndexOf('/') + 1)
  const why = `couldn't find struct field with name "${name}"`
  return `error finding value in datum: ${pointer}: at part ${part}, ${why}`
}

/** Which operators accept which types; `error` stands for any error. */
const columns = [
  'Text',
  'Integer',
  'Float',
  'Boolean',
  'List',
  'Map',
  'Struct',
  'NullStruct',
] as const
const columnsMore = [
  'Time',
  'NullTime',
  'NullList',
  'NullMap',
  'NullBoolean',
  'SetBoolean',
  'Bytes',
  'NullBytes',
] as const
const E = 'error'
const table: readonly {
  operator: string
  wanted: readonly (boolean | typeof E)[]
  wantedMore: readonly (boolean | typeof E)[]
}[] = [
  {
    operator: '== `0`',
    wanted: [false, false, false, false, E, E, E, E],
    wantedMore: [E, E, E, E, E, true, false, E],
  },
  {
    operator: '!= `0`',
    wanted: [true, true, true, true, E, E, E, E],
    wantedMore: [E, E, E, E, E, false, true, E],
  },
  {
    operator: 'contains `dc1`',
    wanted: [false, E, E, E, true, false, E, E],
    wantedMore: [E, E, false, false, E, E, false, false],
  },
  {
    operator: 'not contains `dc1`',
    wanted: [true, E, E, E, false, true, E, E],
    wantedMore: [E, E, true, true, E, E, true, true],
  },
  {
    operator: 'is empty',
    wanted: [false, E, E, E, false, false, E, E],
    wantedMore: [E, E, true, true, E, E, false, true],
  },
  {
    operator: 'is not empty',
    wanted: [true, E, E, E, true, true, E, E],
    wantedMore: [E, E, false, false, E, E, true, false],
  },
  {
    operator: 'is nil',
    wanted: [E, E, E, E, false, false, false, true],
    wantedMore: [false, true, true, true, true, false, false, true],
  },
  {
    operator: 'is not nil',
    wanted: [E, E, E, E, true, true, true, false],
    wantedMore: [true, false, false, false, false, true, true, false],
  },
  {
    operator: 'matches `^web-[0-9]$`',
    wanted: [true, E, E, E, E, E, E, E],
    wantedMore: [E, E, E, E, E, E, false, E],
  },
  {
    operator: 'not matches `^web-[0-9]$`',
    wanted: [false, E, E, E, E, E, E, E],
    wantedMore: [E, E, E, E, E, E, true, E],
  },
]
for (const { operator, wanted, wantedMore } of table)
  test(`filter: ${operator} by the type of the selected value`, () => {
    const answers = [...columns, ...columnsMore].map((field) => {
      const answer = outcome(`${field} ${operator}`)
      return typeof answer === 'string' ? E : answer
    })
    assert.deepEqual(answers, [...wanted, ...wantedMore])
  })

const cases: readonly { filter: string; wanted: Outcome }[] = [
  // Strings.
  { filter: 'Text == "web-1"', wanted: true },
  { filter: 'Text == "WEB-1"', wanted: false },
  { filter: 'Text contains "eb-"', wanted: true },
  { filter: '"eb-" in Text', wanted: true },
  { filter: 'Text matches "^w"', wanted: true },
  { filter: 'Text matches "EB"', wanted: false },
  { filter: 'Text matches "(?i)EB"', wanted: true },
  // Numbers and booleans in every notation.
  { filter: 'Integer == 50', wanted: true },
  { filter: 'Integer == "0x32"', wanted: true },
  { filter: 'Integer == "0o62"', wanted: true },
  { filter: 'Integer == "062"', wanted: true },
  { filter: 'Integer == "0b11_0010"', wanted: true },
  { filter: 'Integer == "+5_0"', wanted: true },
  { filter: 'Integer != -50', wanted: true },
  { filter: 'Float == 2.5', wanted: true },
  { filter: 'Float == "25e-1"', wanted: true },
  { filter: 'Float == "Inf"', wanted: false },
  { filter: 'Float != "NaN"', wanted: true },
  { filter: 'Boolean == true', wanted: true },
  { filter: 'Boolean == T', wanted: true },
  { filter: 'Boolean == 1', wanted: true },
  { filter: 'Boolean == False', wanted: false },
  // Lists.
  { filter: 'List contains dc2', wanted: true },
  { filter: '"dc" in List', wanted: false },
  { filter: '443 in Integers', wanted: true },
  { filter: '"0x50" in Integers', wanted: true },
  { filter: 'List.1 == dc2', wanted: true },
  { filter: 'Structs.1.Name == b', wanted: true },
  { filter: '"/Structs/0/Count" == 0', wanted: true },
  // Maps: a missing key is empty and nil, and equals nothing.
  { filter: 'Map contains team', wanted: true },
  { filter: 'Map contains core', wanted: false },
  { filter: 'Map["team"] == "core"', wanted: true },
  { filter: 'Map.team == core', wanted: true },
  { filter: 'Map.empty is empty', wanted: true },
  { filter: 'Map["none"] == ""', wanted: false },
  { filter: 'Map["none"] != ""', wanted: true },
  { filter: 'x in Map["none"]', wanted: false },
  { filter: 'x not in Map["none"]', wanted: true },
  { filter: 'Map["none"] matches ".*"', wanted: false },
  { filter: 'Map["none"] not matches ".*"', wanted: true },
  { filter: 'Map["none"] is empty', wanted: true },
  { filter: 'Map["none"] is not empty', wanted: false },
  { filter: 'Map["none"] is nil', wanted: true },
  { filter: 'Map["none"] is not nil', wanted: false },
  { filter: 'any Map["none"] as x { x == 1 }', wanted: false },
  { filter: 'all Map["none"] as x { x == 1 }', wanted: true },
  { filter: 'NullMap["none"] == x', wanted: false },
  { filter: 'NullMap["none"] != x', wanted: true },
  { filter: 'Map["constructor"] is nil', wanted: true },
  { filter: 'Map contains "__proto__x"', wanted: false },
  { filter: '"__proto__" in Map', wanted: false },
  { filter: 'ByName.web.State == running', wanted: true },
  { filter: 'ByName.cache.State == running', wanted: false },
  { filter: 'ByName.cache.State != running', wanted: true },
  // Free-form JSON: the value determines its type, and objects are maps.
  { filter: 'Free.n == 5', wanted: true },
  { filter: 'Free.n == "5.0"', wanted: true },
  { filter: 'Free.f == 1.5', wanted: true },
  { filter: 'Free.s == x', wanted: true },
  { filter: 'Free.b == true', wanted: true },
  { filter: 'Free.l contains one', wanted: true },
  { filter: 'Free.l contains 1', wanted: true },
  { filter: 'Free.l contains 2', wanted: false },
  { filter: 'Free.o contains in', wanted: true },
  { filter: 'Free.o.in.deep == 1', wanted: true },
  { filter: 'Free.o.nope.deep == 1', wanted: false },
  { filter: 'Free.z is nil', wanted: true },
  { filter: 'any Free.o as k { k == in }', wanted: true },
  {
    filter: 'any Free.l as x { x == "one" }',
    wanted:
      'error getting match value in expression: strconv.ParseInt: parsing "one": invalid syntax',
  },
  // Quantifiers.
  { filter: 'any Structs as g { g.Count == 0 }', wanted: true },
  { filter: 'all Structs as g { g.Count == 0 }', wanted: false },
  { filter: 'any Structs as i, g { i == 1 and g.Name == b }', wanted: true },
  { filter: 'any Structs as i, _ { i == 2 }', wanted: false },
  { filter: 'all Structs as _, g { g.Name is not empty }', wanted: true },
  { filter: 'any List as d { d == dc2 }', wanted: true },
  { filter: 'any Map as k { k == team }', wanted: true },
  { filter: 'any Map as k { k == core }', wanted: false },
  { filter: 'any Map as k, v { k == team and v == core }', wanted: true },
  { filter: 'any Map as _, v { v == core }', wanted: true },
  { filter: 'any Map as k, _ { k matches "^te" }', wanted: true },
  { filter: 'all ByName as _, s { s.State == running or s.State == dead }', wanted: true },
  { filter: 'any NullList as x { x == 1 }', wanted: false },
  { filter: 'all NullList as x { x == 1 }', wanted: true },
  { filter: 'any NullMap as x { x == 1 }', wanted: false },
  { filter: 'any Structs as g { any g.Tags as t { t == x and g.Name == a } }', wanted: true },
  { filter: 'any Structs as g { g.Name == b and (all g.Tags as t { t == y }) }', wanted: true },
  { filter: 'Text == x or any Structs as Text { Text.Name == a }', wanted: true },
  { filter: 'any Structs as g { any g.Tags as g { g == x } }', wanted: true },
  { filter: 'any Structs as g { "/g/Name" == a }', wanted: true },
  { filter: 'any Structs as g { g.Name == g }', wanted: false },
  // Short circuit: the first deciding operand hides later errors.
  { filter: 'Text == x and Nope == 1', wanted: false },
  { filter: 'Text != x or Nope == 1', wanted: true },
  { filter: 'Struct is not nil and Struct.Text == x', wanted: true },
  { filter: 'NullStruct is not nil and NullStruct.Text == x', wanted: false },
]
for (const c of cases)
  test(`filter: ${c.filter} is ${c.wanted}`, () => {
    assert.equal(outcome(c.filter), c.wanted)
  })

const errors: readonly { filter: string; message: string }[] = [
  { filter: 'any Text as x { x == 1 }', message: 'Text is not a list or a map' },
  { filter: 'all "/Struct/Text" as x { x == 1 }', message: '/Struct/Text is not a list or a map' },
  { filter: 'any NullBytes as x { x == 1 }', message: 'NullBytes is not a list or a map' },
  { filter: 'any NullStruct as x { x == 1 }', message: 'NullStruct is not a list or a map' },
  {
    filter: 'Integer == "abc"',
    message:
      'error getting match value in expression: strconv.ParseInt: parsing "abc": invalid syntax',
  },
  {
    filter: 'Integer == 9223372036854775808',
    message:
      'error getting match value in expression: ' +
      'strconv.ParseInt: parsing "9223372036854775808": value out of range',
  },
  {
    filter: 'Integer == 1.5',
    message:
      'error getting match value in expression: strconv.ParseInt: parsing "1.5": invalid syntax',
  },
  {
    filter: 'Float == "1e999"',
    message:
      'error getting match value in expression: ' +
      'strconv.ParseFloat: parsing "1e999": value out of range',
  },
  {
    filter: 'Boolean == yes',
    message:
      'error getting match value in expression: strconv.ParseBool: parsing "yes": invalid syntax',
  },
  {
    filter: 'x in Integers',
    message:
      'error getting match value in expression: strconv.ParseInt: parsing "x": invalid syntax',
  },
  {
    filter: 'x in Structs',
    message: 'unable to find suitable primitive comparison function for "in" comparison',
  },
  {
    filter: 'Struct == x',
    message: 'unable to find suitable primitive comparison function for matching',
  },
  {
    filter: 'x in Struct',
    message: 'cannot perform in/contains operations on type struct for selector: "Struct"',
  },
  {
    filter: 'Time contains 2026',
    message: 'cannot perform in/contains operations on type struct for selector: "Time"',
  },
  {
    filter: 'Integer is empty',
    message: 'cannot perform is empty operations on type int for selector: "Integer"',
  },
  {
    filter: 'Text is nil',
    message: 'cannot perform is nil operations on type string for selector: "Text"',
  },
  { filter: 'Float matches x', message: 'value of type float64 is not convertible to []byte' },
  {
    filter: 'Text matches "("',
    message:
      'failed to compile regular expression "(": error parsing regexp: missing closing ): `(`',
  },
  {
    filter: 'Text matches "(?=x)"',
    message:
      'failed to compile regular expression "(?=x)": ' +
      'error parsing regexp: invalid or unsupported Perl syntax: `(?=`',
  },
]
for (const c of errors)
  test(`filter: ${c.filter} fails`, () => {
    assert.equal(outcome(c.filter), c.message)
    assert.equal(outcome(`not ${c.filter.startsWith('a') ? `(${c.filter})` : c.filter}`), c.message)
  })

test('filter: a well-formed filter compiles however little sense it makes', () => {
  for (const { filter } of errors) assert.ok(compileFilter(filter, { rowType: kinds }).ok)
})

test('filter: a declared field that the row leaves out has its zero value', () => {
  const holds = [
    'Text == ""',
    'Integer == 0',
    'Float == 0',
    'Boolean == false',
    'List is empty',
    'List is nil',
    'Map is nil',
    'Struct is nil',
    'NullBoolean is nil',
    'Time is not nil',
    'Map["x"] is nil',
    'all Structs as g { g.Count == 1 }',
  ]
  for (const filter of holds) assert.equal(outcome(filter, {}), true, filter)
})

test('filter: without declared types objects are records and values decide', () => {
  const datum = {
    Name: 'a',
    Count: 3,
    Half: 0.5,
    Tags: ['x'],
    Inner: { Deep: [{ N: 1 }] },
    None: null,
  }
  const wanted: Readonly<Record<string, Outcome>> = {
    'Count == 3': true,
    'Count == 3.0': true,
    'Half == 0.5': true,
    'Tags contains x': true,
    'Inner.Deep.0.N == 1': true,
    'any Inner.Deep as d { d.N == 1 }': true,
    'Inner is not nil': true,
    'None is nil': true,
    'Inner.Nope == 1': noField('/Inner/Nope', 1),
    'toString == 1': noField('/toString', 0),
    'Deep in Inner': 'cannot perform in/contains operations on type struct for selector: "Inner"',
    'any Inner as x { x == 1 }': 'Inner is not a list or a map',
  }
  for (const [filter, answer] of Object.entries(wanted))
    assert.equal(outcome(filter, datum, {}), answer)
})

test('filter: integers beyond 2^53 equal the text that prints them', () => {
  assert.equal(outcome('Integer == 1731628800123000000', { Integer: 1731628800123000000 }), true)
  assert.equal(outcome('Integer == 1731628800123000000', { Integer: 1731628800123000000n }), true)
})

test('filter: a hidden field does not exist, but the same word as a map key does', () => {
  const hidden = ['SecretID']
  const unknown = noField('/SecretID', 0)
  const datum = { ...row, Map: { SecretID: 'mine' } }
  for (const filter of ['SecretID == hush', 'SecretID matches "^h"', '"/SecretID" is empty']) {
    assert.notEqual(outcome(filter), unknown)
    assert.equal(outcome(filter, datum, { rowType: kinds, hidden }), unknown)
    assert.equal(outcome(filter, datum, { hidden }), unknown)
  }
  assert.equal(outcome('Map.SecretID == mine', datum, { rowType: kinds, hidden }), true)
})

test('filter: rows that are not objects are refused, not fatal', () => {
  for (const datum of [null, 3, 'text', [], [1]])
    assert.match(String(outcome('Text == x', datum, {})), /^error finding value in datum: \/Text: /)
})

const fields = [
  'Text',
  'Integer',
  'List',
  'Map.team',
  'Map.none',
  'NullStruct.Text',
  'Nope',
  'Free.l',
]
const anyTerm = fc
  .tuple(
    fc.constantFrom(...fields),
    fc.constantFrom('== 50', '!= "core"', 'contains dc1', 'is empty', 'is not nil', 'matches "^w"'),
  )
  .map(([field, rest]) => `(${field} ${rest})`)

test('filter: negation, conjunction and disjunction obey their laws, errors included', () => {
  fc.assert(
    fc.property(anyTerm, anyTerm, anyTerm, (a, b, c) => {
      assert.equal(outcome(`not not ${a}`), outcome(a))
      assert.equal(outcome(`not (${a} and ${b})`), outcome(`not ${a} or not ${b}`))
      assert.equal(outcome(`not (${a} or ${b})`), outcome(`not ${a} and not ${b}`))
      assert.equal(outcome(`(${a} and ${b}) and ${c}`), outcome(`${a} and ${b} and ${c}`))
      assert.equal(outcome(`(${a} or ${b}) or ${c}`), outcome(`${a} or ${b} or ${c}`))
      assert.equal(outcome(`${a} and ${a}`), outcome(a))
      assert.equal(outcome(`${a} or ${b} and ${c}`), outcome(`${a} or (${b} and ${c})`))
    }),
  )
})

test('filter: `X contains v` is `v in X`', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...fields),
      fc.constantFrom('dc1', 'core', '50', 'x'),
      (field, value) => {
        assert.equal(outcome(`${field} contains ${value}`), outcome(`"${value}" in ${field}`))
        assert.equal(
          outcome(`${field} not contains ${value}`),
          outcome(`"${value}" not in ${field}`),
        )
      },
    ),
  )
})

test('filter: any JSON row is judged or refused, never fatal', () => {
  fc.assert(
    fc.property(anyTerm, fc.jsonValue(), (term, datum) => {
      outcome(term, datum, {})
      outcome(term, datum, { rowType: kinds })
      outcome(`any Text as a, b { any b as c { c.Map == 1 or ${term} } }`, datum, {})
    }),
  )
})
