import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { fieldTypeFromSchema, type FieldType } from './field-type.ts'

const leaf = (
  kind: 'string' | 'integer' | 'float' | 'boolean' | 'time' | 'bytes' | 'json',
): FieldType => ({
  kind,
  nullable: false,
})
const orNull = (kinds: FieldType): FieldType => ({ ...kinds, nullable: true })
const listOf = (of: FieldType): FieldType => ({ kind: 'list', nullable: false, of })
const mapOf = (of: FieldType): FieldType => ({ kind: 'map', nullable: false, of })
const struct = (fields: Readonly<Record<string, FieldType>>): FieldType => ({
  kind: 'struct',
  nullable: false,
  fields: new Map(Object.entries(fields)),
})

const cases: readonly { name: string; schema: unknown; kinds: FieldType }[] = [
  { name: 'a string', schema: Type.String(), kinds: leaf('string') },
  { name: 'an integer', schema: Type.Integer({ format: 'nanoseconds' }), kinds: leaf('integer') },
  { name: 'a number', schema: Type.Number(), kinds: leaf('float') },
  { name: 'a boolean', schema: Type.Boolean(), kinds: leaf('boolean') },
  { name: 'a time', schema: Type.String({ format: 'date-time' }), kinds: leaf('time') },
  {
    name: 'bytes, as base64',
    schema: Type.String({ contentEncoding: 'base64' }),
    kinds: leaf('bytes'),
  },
  {
    name: 'a string of another format',
    schema: Type.String({ format: 'uuid' }),
    kinds: leaf('string'),
  },
  { name: 'a literal', schema: Type.Literal('x'), kinds: leaf('string') },
  { name: 'an enumeration', schema: Type.Enum(['a', 'b']), kinds: leaf('string') },
  {
    name: 'a union of literals',
    schema: Type.Union([Type.Literal('a'), Type.Literal('b')]),
    kinds: leaf('string'),
  },
  {
    name: 'a nullable string',
    schema: Type.Union([Type.String(), Type.Null()]),
    kinds: orNull(leaf('string')),
  },
  {
    name: 'a nullable list',
    schema: Type.Union([Type.Null(), Type.Array(Type.Integer())]),
    kinds: orNull(listOf(leaf('integer'))),
  },
  {
    name: 'null inside a union inside a union',
    schema: Type.Union([Type.Union([Type.String(), Type.Null()]), Type.String()]),
    kinds: orNull(leaf('string')),
  },
  { name: 'a list of types', schema: { type: ['string', 'null'] }, kinds: orNull(leaf('string')) },
  {
    name: 'a map',
    schema: Type.Record(Type.String(), Type.String()),
    kinds: mapOf(leaf('string')),
  },
  {
    name: 'a map by additional properties',
    schema: { type: 'object', additionalProperties: { type: 'integer' } },
    kinds: mapOf(leaf('integer')),
  },
  { name: 'an object without more', schema: { type: 'object' }, kinds: mapOf(leaf('json')) },
  {
    name: 'a record',
    schema: Type.Object(
      { Name: Type.String(), Meta: Type.Optional(Type.Record(Type.String(), Type.Unknown())) },
      { additionalProperties: false },
    ),
    kinds: struct({ Name: leaf('string'), Meta: mapOf(leaf('json')) }),
  },
  { name: 'a record without fields', schema: Type.Object({}), kinds: struct({}) },
  {
    name: 'a nullable record in a list in a map',
    schema: Type.Record(
      Type.String(),
      Type.Array(Type.Union([Type.Object({ N: Type.Integer() }), Type.Null()])),
    ),
    kinds: mapOf(listOf(orNull(struct({ N: leaf('integer') })))),
  },
  {
    name: 'an intersection of records',
    schema: Type.Intersect([
      Type.Object({ A: Type.String() }),
      Type.Object({ A: Type.String(), B: Type.Boolean() }),
    ]),
    kinds: struct({ A: leaf('string'), B: leaf('boolean') }),
  },
  {
    name: 'a union of kinds',
    schema: Type.Union([Type.String(), Type.Integer()]),
    kinds: leaf('json'),
  },
  {
    name: 'a union of lists',
    schema: Type.Union([Type.Array(Type.String()), Type.Array(Type.Integer())]),
    kinds: listOf(leaf('json')),
  },
  { name: 'anything', schema: Type.Unknown(), kinds: leaf('json') },
  { name: 'a list of anything', schema: { type: 'array' }, kinds: listOf(leaf('json')) },
  { name: 'null alone', schema: Type.Null(), kinds: orNull(leaf('json')) },
  { name: 'no schema', schema: true, kinds: leaf('json') },
]
for (const c of cases)
  test(`field kinds: ${c.name}`, () => {
    assert.deepEqual(fieldTypeFromSchema(c.schema), c.kinds)
  })

test('field kinds: a schema that contains itself is a bug, not an endless loop', () => {
  const schema: Record<string, unknown> = { type: 'array' }
  schema['items'] = schema
  assert.throws(() => fieldTypeFromSchema(schema), /the schema of a filtered record is finite/)
})
