import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluateText } from '../../test/evaluate-text.ts'

const SCHEMA = `
"A shop."
type Query { item(id: ID!, kinds: [Kind!] = [BOOK]): Item, find(filter: Filter): [Node!]! }
interface Node { id: ID! }
type Item implements Node @key(fields: "id") { id: ID! price: Float tags: [String] }
union Thing = Item
enum Kind { BOOK "Old." DISK @deprecated }
input Filter { name: String = "x" limit: Int = 10 nested: Filter }
scalar Date
directive @key(fields: String) repeatable on OBJECT | INTERFACE
extend type Item { added: Date }
extend schema { subscription: Query }
`
const QUERY = `
query Named($id: ID!, $n: Int = 1, $all: Boolean!) @live {
  first: item(id: $id, kinds: [BOOK, DISK]) { ...Parts ... on Item @include(if: $all) { price } }
  find(filter: { name: """block""", limit: $n, nested: null }) { id }
}
fragment Parts on Item { id tags }
`
const RULES = `
schema := \`${SCHEMA}directive @live on QUERY\`
query := \`${QUERY}\`
both := graphql.parse(query, schema)
`

test('graphql: what was parsed can be checked in the place of its text', () => {
  const rules = `${RULES}
p := [
  graphql.is_valid(query, schema),
  graphql.is_valid(both[0], both[1]),
  graphql.is_valid(query, both[1]),
  graphql.schema_is_valid(both[1]),
  graphql.parse(both[0], both[1]) == both,
  graphql.parse_and_verify(both[0], both[1]) == [true, both[0], both[1]],
]`
  assert.equal(evaluateText(rules, 'data.t.p'), '[true,true,true,true,true,true]')
})

test('graphql: a changed document is checked as it is', () => {
  const rules = `${RULES}
other := json.patch(both[0], [{"op": "replace", "path": "/Operations/0/SelectionSet/1/Name", "value": "gone"}])
odd := json.patch(both[0], [{"op": "replace", "path": "/Operations/0/Operation", "value": "destroy"}])
p := [graphql.is_valid(other, schema), graphql.is_valid(odd, schema), graphql.is_valid({"Operations": 1}, schema)]`
  assert.equal(evaluateText(rules, 'data.t.p'), '[false,false,false]')
})

const SCHEMAS: readonly (readonly [name: string, schema: string, isValid: boolean])[] = [
  ['no type', '', true],
  ['no queries', 'type A { a: Int }', true],
  ['an unknown type', 'type Query { a: Unknown }', false],
  ['a type that is only extended', 'extend type Query { a: Int }', true],
  ['an extension of another kind', 'type A { a: Int } extend enum A { B }', false],
  [
    'an interface that is not fulfilled',
    'interface I { a: Int } type A implements I { b: Int }',
    false,
  ],
  ['two definitions of a type', 'type A { a: Int } type A { b: Int }', false],
  ['an unknown directive', 'type Query { a: Int @nope }', false],
  ['a reserved name', 'type Query { __a: Int }', false],
  ['an operation', '{ a }', false],
]
for (const [name, schema, isValid] of SCHEMAS)
  test(`graphql: a schema with ${name} is ${isValid ? 'valid' : 'invalid'}`, () => {
    const document = `graphql.schema_is_valid(${JSON.stringify(schema)})`
    assert.equal(evaluateText('', document), String(isValid))
  })

const QUERIES: readonly (readonly [name: string, query: string, isValid: boolean])[] = [
  ['of known fields', '{ item(id: 1) { price } }', true],
  ['of nothing', '', true],
  ['of an unknown field', '{ item(id: 1) { cost } }', false],
  ['without a required argument', '{ item { price } }', false],
  ['of an operation that the schema does not have', 'mutation { item(id: 1) { id } }', false],
  [
    'of fields that contradict each other',
    '{ a: item(id: 1) { id } a: item(id: 2) { id } }',
    false,
  ],
  ['with a type definition', 'type A { a: Int }', false],
  [
    'with a fragment that contains itself',
    '{ item(id: 1) { ...F } } fragment F on Item { ...F }',
    false,
  ],
]
for (const [name, query, isValid] of QUERIES)
  test(`graphql: a query ${name} is ${isValid ? 'valid' : 'invalid'}`, () => {
    const rules = `${RULES}\nasked := ${JSON.stringify(query)}`
    assert.equal(
      evaluateText(rules, 'graphql.is_valid(data.t.asked, data.t.schema)'),
      String(isValid),
    )
  })

/** Each would take minutes or the whole stack. */
const HOSTILE: readonly (readonly [name: string, rules: string])[] = [
  [
    'deep selections',
    `q := sprintf("%s%s", [strings.replace_n({"x": "{a"}, concat("", [c | some i in numbers.range(1, 5000); c := "x"])), "}"])`,
  ],
  [
    'deep lists',
    `q := concat("", array.concat(["{a(b:"], [c | some i in numbers.range(1, 5000); c := "["]))`,
  ],
  [
    'many tokens',
    `q := sprintf("{%s}", [concat(" ", [c | some i in numbers.range(1, 300000); c := "a"])])`,
  ],
  [
    'many fields of one name',
    `q := sprintf("{%s}", [concat(" ", [c | some i in numbers.range(1, 20000); c := "item(id:1){id}"])])`,
  ],
]
for (const [name, rule] of HOSTILE)
  test(`graphql: ${name} are refused or take a bounded time`, () => {
    const rules = `${RULES}\n${rule}`
    const answer = evaluateText(rules, 'graphql.is_valid(data.t.q, data.t.schema)')
    assert.equal(answer, 'eval_limit_error')
  })

test('graphql: missing fields of many interfaces are not counted one by one', () => {
  const rules = `
fields := concat(" ", [f | some i in numbers.range(1, 2000); f := sprintf("f%d: Int", [i])])
types := concat(" ", [t | some i in numbers.range(1, 2000); t := sprintf("type T%d implements I { x: Int }", [i])])
schema := sprintf("interface I { %s } %s", [fields, types])`
  assert.equal(evaluateText(rules, 'graphql.schema_is_valid(data.t.schema)'), 'eval_limit_error')
})
