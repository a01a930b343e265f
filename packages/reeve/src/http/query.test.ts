import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v1Routes } from '@reeve/contract'
import { Type } from 'typebox'
import { compileV1Query, QueryError } from './query.ts'

const parse = compileV1Query(v1Routes.listJobs.query)

const accepted: readonly [Record<string, string>, object][] = [
  [{}, {}],
  [
    { index: '12', wait: '5s' },
    { index: 12, wait: '5s' },
  ],
  [{ index: '18446744073709551615' }, { index: 2 ** 64 }],
  [{ per_page: '-1' }, { per_page: -1 }],
  [{ next_token: 'default.a%C3%A9' }, { next_token: 'default.aé' }],
  [{ next_token: 'default.100%' }, { next_token: 'default.100%' }],
  [{ stale: '' }, { stale: true }],
  [{ stale: 'false' }, { stale: false }],
  [{ pretty: '' }, { pretty: true }],
  [{ pretty: '0' }, { pretty: false }],
  [{ reverse: 'maybe' }, { reverse: false }],
  [{ meta: 'T' }, { meta: true }],
  [{ unknown: 'x' }, {}],
]
for (const [raw, wanted] of accepted)
  test(`query ${JSON.stringify(raw)} reads as ${JSON.stringify(wanted)}`, () =>
    assert.deepEqual(parse(raw), wanted))

const refused: readonly [Record<string, string>, string][] = [
  [{ index: '-1' }, 'Invalid index'],
  [{ index: 'x' }, 'Invalid index'],
  [{ index: '18446744073709551616' }, 'Invalid index'],
  [{ per_page: 'x' }, 'Expect a number for `per_page` query string parameter'],
  [{ stale: 'x' }, 'Expect `true` or `false` for `stale` query string parameter'],
  [
    { meta: 'x' },
    'Failed to parse value of "meta" (x) as a bool: strconv.ParseBool: parsing "x": invalid syntax',
  ],
  [{ index: 'x', stale: 'x' }, 'Expect `true` or `false` for `stale` query string parameter'],
]
for (const [raw, message] of refused)
  test(`query ${JSON.stringify(raw)} is rejected`, () =>
    assert.throws(() => parse(raw), new QueryError(message)))

test('query: a repeatable parameter is a list, given once or more', () => {
  const parseTopics = compileV1Query(
    Type.Object({ topic: Type.Optional(Type.Array(Type.String())) }),
  )
  assert.deepEqual(parseTopics({ topic: 'Job' }), { topic: ['Job'] })
  assert.deepEqual(parseTopics({ topic: ['Job', 'Node'] }), { topic: ['Job', 'Node'] })
})
