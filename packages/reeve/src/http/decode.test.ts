import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Nanoseconds } from '@reeve/contract'
import { Type } from 'typebox'
import { LIMITS } from '../model/index.ts'
import { compileDecoder, ShapeError, type JsonSchema } from './decode.ts'

const Group = Type.Object({ Name: Type.String(), Count: Type.Integer() })
const Request = Type.Object({
  ID: Type.String(),
  Priority: Type.Integer(),
  AllAtOnce: Type.Boolean(),
  Weight: Type.Number(),
  Meta: Type.Union([Type.Record(Type.String(), Type.String()), Type.Null()]),
  TaskGroups: Type.Array(Group),
  Status: Type.Enum(['on', 'off']),
  Error: Type.Union([Type.Boolean(), Type.String()]),
  Config: Type.Record(Type.String(), Type.Unknown()),
  Delay: Nanoseconds(),
  Lists: Type.Array(Type.Record(Type.String(), Type.Array(Type.String()))),
})
// TypeBox schemas are JSON Schema objects.
const decode = compileDecoder(Request as JsonSchema)

const accepted: readonly [string, unknown, unknown][] = [
  ['exact names', { ID: 'a', Priority: 3 }, { ID: 'a', Priority: 3 }],
  ['names in any case', { id: 'a', pRIORITY: 3 }, { ID: 'a', Priority: 3 }],
  ['the exact name over another spelling', { id: 'x', ID: 'a' }, { ID: 'a' }],
  ['and ignores unknown fields', { ID: 'a', Extra: { deep: 1 } }, { ID: 'a' }],
  ['null as not given', { ID: null, TaskGroups: null }, {}],
  [
    'map keys with their case',
    { Meta: { Team: 'x', team: 'y' } },
    { Meta: { Team: 'x', team: 'y' } },
  ],
  [
    'nested objects',
    { taskgroups: [{ name: 'g', count: 2 }] },
    { TaskGroups: [{ Name: 'g', Count: 2 }] },
  ],
  ['either type of a union', { Error: 'why' }, { Error: 'why' }],
  [
    'the largest whole number',
    { Priority: Number.MAX_SAFE_INTEGER },
    { Priority: Number.MAX_SAFE_INTEGER },
  ],
  ['nanoseconds of 290 years', { Delay: 9e18 }, { Delay: 9e18 }],
  ['one of a closed set', { Status: 'on' }, { Status: 'on' }],
  [
    'free-form values as they are',
    { Config: { a: [1, { b: null }] } },
    { Config: { a: [1, { b: null }] } },
  ],
]
for (const [name, body, wanted] of accepted)
  test(`decode accepts ${name}`, () => assert.deepEqual(decode(body), wanted))

const refused: readonly [string, unknown, string][] = [
  [
    'a text for a number',
    { Priority: '3' },
    'json: cannot unmarshal string into field Priority of type integer',
  ],
  [
    'a fraction for a whole number',
    { Priority: 1.5 },
    'json: cannot unmarshal number into field Priority of type integer',
  ],
  ['a number for a text', { ID: 4 }, 'json: cannot unmarshal number into field ID of type string'],
  [
    'an object for a list',
    { TaskGroups: {} },
    'json: cannot unmarshal object into field TaskGroups of type array',
  ],
  [
    'a wrong type deep inside, with its path',
    { TaskGroups: [{ Name: 'a' }, { Count: true }] },
    'json: cannot unmarshal bool into field TaskGroups[1].Count of type integer',
  ],
  [
    'a wrong value in a map',
    { Meta: { team: 1 } },
    'json: cannot unmarshal number into field Meta[team] of type string',
  ],
  [
    'a wrong value in a list in a free-form map',
    { Lists: [{ a: ['x'] }, { b: ['y', 2] }] },
    'json: cannot unmarshal number into field Lists[1][b][1] of type string',
  ],
  [
    'a text outside a closed set',
    { Status: 'maybe' },
    'json: cannot unmarshal string into field Status of type "on" or "off"',
  ],
  ['a list as the whole', [], 'json: cannot unmarshal array into a value of type object'],
  [
    'a whole number that is rounded',
    { Priority: 2 ** 53 },
    'json: cannot unmarshal number into field Priority of type integer: ' +
      'it is too large, beyond ±9007199254740991',
  ],
  [
    'a whole number far below',
    { TaskGroups: [{ Count: -1e30 }] },
    'json: cannot unmarshal number into field TaskGroups[0].Count of type integer: ' +
      'it is too large, beyond ±9007199254740991',
  ],
  [
    'nanoseconds of more than 64 bits',
    { Delay: 2 ** 63 },
    'json: cannot unmarshal number into field Delay of type integer: ' +
      'it is too large, beyond ±9223372036854774784',
  ],
]
for (const [name, body, message] of refused)
  test(`decode rejects ${name}`, () => {
    assert.throws(
      () => decode(body),
      (thrown: unknown) => {
        assert.ok(thrown instanceof ShapeError)
        assert.equal(thrown.message, message)
        return true
      },
    )
  })

test('decode keeps a key named __proto__ as data', () => {
  const decoded: unknown = decode(JSON.parse('{"Meta":{"__proto__":"x"}}'))
  assert.equal(JSON.stringify(decoded), '{"Meta":{"__proto__":"x"}}')
})

test('decode rejects free-form values that are nested too deep', () => {
  let deep: unknown = 1
  for (let i = 0; i < LIMITS.jsonDepthMax + 1; i++) deep = [deep]
  assert.throws(() => decode({ Config: { a: deep } }), /levels deep/)
})
