import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v1Routes, v2, type Route } from '@reeve/contract'
import * as called from './called-routes.ts'

const tables: readonly (readonly [Readonly<Record<string, Route>>, typeof called.v1RouteTable])[] =
  [
    [v1Routes, called.v1RouteTable],
    [v2.v2Routes, called.v2RouteTable],
  ]

test('every route can be called, as the contract has it', () => {
  for (const [routes, calls] of tables) {
    assert.deepEqual(Object.keys(calls), Object.keys(routes))
    for (const [id, route] of Object.entries(routes)) {
      const call = calls[id]
      assert.deepEqual(
        [call?.id, call?.methods, call?.path, call?.needs, call?.bodyType, call?.streams],
        [route.id, route.methods, route.path, route.needs, route.bodyType, route.streams],
      )
      assert.deepEqual(
        Object.entries(call?.query?.properties ?? {}),
        Object.entries(route.query?.properties ?? {}).map(([name, schema]) => {
          const value: unknown = Reflect.get(schema, 'default')
          return [name, value === undefined ? {} : { default: value }]
        }),
        id,
      )
      assert.deepEqual(
        Object.entries(call?.answers ?? {}).map(([status, answer]) => answerFacts(status, answer)),
        Object.entries(route.answers)
          .filter(([status]) => Number(status) < 400)
          .map(([status, answer]) => answerFacts(status, answer)),
        id,
      )
    }
  }
})

function answerFacts(status: string, { schema, contentType }: called.ResponseInfo) {
  // Bytes are read as bytes, whatever type they are served with.
  const isBinary = Reflect.get(Object(schema), 'format') === 'binary'
  return [status, schema !== undefined, isBinary ? 'application/octet-stream' : contentType]
}

test('all of it is plain data, which a bundle can hold', () => {
  const values = { ...called }
  assert.deepEqual(JSON.parse(JSON.stringify(values)), values)
})
