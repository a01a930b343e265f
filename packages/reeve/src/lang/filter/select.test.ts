import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileFilter } from './compile.ts'
import { fieldTypeFromSchema } from './field-type.ts'

const text = { type: 'string' }
const list = { type: 'array', items: text }
const struct = { type: 'object', properties: { Text: text } }
const nullable = (schema: object) => ({ anyOf: [schema, { type: 'null' }] })

const kinds = fieldTypeFromSchema({
  type: 'object',
  properties: {
    Text: text,
    Integer: { type: 'integer' },
    Time: { type: 'string', format: 'date-time' },
    List: list,
    NullList: nullable(list),
    Map: { type: 'object', additionalProperties: text },
    Struct: nullable(struct),
    NullStruct: nullable(struct),
    Structs: { type: 'array', items: struct },
    Free: { type: 'object', additionalProperties: {} },
  },
})
const row = {
  Text: 'x',
  Integer: 1,
  Time: '2026-01-02T03:04:05Z',
  List: ['a', 'b'],
  NullList: null,
  Map: { k: 'v' },
  Struct: { Text: 'x' },
  NullStruct: null,
  Structs: [{ Text: 'x' }],
  Free: { s: 'x', z: null, l: [1] },
}

/** Invalid paths for the row; each message follows `error finding value in datum: `. */
const cases: readonly { filter: string; message: string }[] = [
  {
    filter: 'Nope == 1',
    message: `/Nope: at part 0, couldn't find struct field with name "Nope"`,
  },
  {
    filter: 'Struct.Nope is empty',
    message: `/Struct/Nope: at part 1, couldn't find struct field with name "Nope"`,
  },
  {
    filter: 'NullStruct.Text == x',
    message: '/NullStruct/Text: at part 1, invalid value kind: invalid',
  },
  {
    filter: 'Text.More == x',
    message: '/Text/More: at part 1, invalid value kind: string',
  },
  {
    filter: 'Integer.0 == x',
    message: '/Integer/0: at part 1, invalid value kind: int',
  },
  {
    filter: 'Free.s.t == x',
    message: '/Free/s/t: at part 2, invalid value kind: string',
  },
  {
    filter: 'Time.Year == 1',
    message: `/Time/Year: at part 1, couldn't find struct field with name "Year"`,
  },
  {
    filter: 'List.2 == x',
    message: '/List/2: at part 1, index 2 is out of range (length = 2)',
  },
  {
    filter: 'NullList.0 == x',
    message: '/NullList/0: at part 1, index 0 is out of range (length = 0)',
  },
  {
    filter: 'List.first == x',
    message: '/List/first: at part 1, "first" is not a position in a list',
  },
  {
    filter: '"/a~1b" == x',
    message: `/a~1b: at part 0, couldn't find struct field with name "a/b"`,
  },
  {
    filter: 'any Structs as g { g.Nope == 1 }',
    message: `/g/Nope: at part 1, couldn't find struct field with name "Nope"`,
  },
  {
    filter: 'any Map as k { k.Nope == 1 }',
    message: '/k/Nope: at part 1, invalid value kind: string',
  },
  { filter: 'Free.z.y == x', message: '/Free/z/y: at part 2, invalid value kind: invalid' },
  { filter: 'Free.l.y == x', message: '/Free/l/y: at part 2, "y" is not a position in a list' },
  {
    filter: 'any Structs as g { g.Text.More == x }',
    message: '/g/Text/More: at part 2, invalid value kind: string',
  },
]
for (const c of cases)
  test(`filter selector: ${c.filter} finds nothing`, () => {
    const compiled = compileFilter(c.filter, { rowType: kinds })
    assert.ok(compiled.ok)
    assert.deepEqual(compiled.value.matches(row), {
      ok: false,
      error: { code: 'filter-failed', message: `error finding value in datum: ${c.message}` },
    })
  })
