import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type, type TObject, type TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { Route } from '../route.ts'
import {
  ADDITIONAL_ROUTES,
  SPEC_EVENT_TYPES,
  SPEC_FIELDS,
  SPEC_ROUTES,
} from '../../test/expected-routes.ts'
import { read } from './define.ts'
import * as v1 from './index.ts'

const routes: readonly (readonly [string, Route])[] = Object.entries(v1.v1Routes)
const exported: readonly (readonly [string, unknown])[] = Object.entries(v1)
const shapes = exported.flatMap(([name, value]) =>
  Type.IsSchema(value) ? [{ name, schema: value }] : [],
)

test('every route is kept under its own id, so ids are unique', () => {
  for (const [key, route] of routes) assert.equal(route.id, key)
})

test('no two routes answer the same method and path', () => {
  const seen = new Map<string, string>()
  for (const [id, route] of routes) {
    const shape = route.path.replaceAll(/:\w+/g, ':')
    for (const method of route.methods) {
      const address = `${method} ${shape}`
      assert.equal(
        seen.get(address),
        undefined,
        `${address} is both ${id} and ${seen.get(address)}`,
      )
      seen.set(address, id)
    }
  }
})

test('the parameters of a path are exactly those that the route declares', () => {
  for (const [id, route] of routes) {
    const inPath = [...route.path.matchAll(/:(\w+)/g)].map((match) => match[1])
    assert.deepEqual(inPath, Object.keys(route.params?.properties ?? {}), id)
  }
})

const USUAL_ERRORS = ['400', '403', '429', '500', '503']

test('a new route has the errors of every route, and those of the last parameter of its path', () => {
  const fields = { summary: 'Read it.', needs: 'node:read' }
  assert.deepEqual(Object.keys(read('/nodes/some', fields).answers), USUAL_ERRORS)
  const { answers } = read('/node/:node_id/thing', fields)
  assert.deepEqual(Object.keys(answers), ['400', '403', '404', '429', '500', '503'])
  assert.match(answers[400].description, /UUID must be 36 characters/)
  assert.match(answers[404].description, /node not found/)
  const accepting = read('/node/:node_id/thing', { ...fields, acceptsUnknown: true })
  assert.deepEqual(Object.keys(accepting.answers), USUAL_ERRORS)
  assert.throws(() => read('/thing/:thing_id', fields), /PATH_PARAMETERS has no thing_id/)
})

test('a blocking route takes index and wait, and no other route takes wait', () => {
  for (const [id, route] of routes) {
    const names = Object.keys(route.query?.properties ?? {})
    const blocks = route.blocking === true
    assert.equal(names.includes('wait'), blocks, id)
    if (blocks) assert.ok(names.includes('index'), id)
  }
})

test('every route takes region, namespace and pretty', () => {
  for (const [id, route] of routes) {
    const names = Object.keys(route.query?.properties ?? {})
    assert.ok(
      ['region', 'namespace', 'pretty'].every((name) => names.includes(name)),
      id,
    )
  }
})

test('a write takes POST and PUT alike, except the two paths that take PUT only', () => {
  for (const [id, route] of routes) {
    const putOnly = route.path.startsWith('/v1/system/')
    const { methods } = route
    assert.equal(methods.includes('POST'), methods.includes('PUT') && !putOnly, id)
  }
})

test('every route documents how it succeeds, and every refusal is text', () => {
  for (const [id, route] of routes) {
    const statuses = Object.keys(route.answers).map(Number)
    assert.ok(
      statuses.some((status) => [101, 200, 204].includes(status)),
      id,
    )
    for (const [status, answer] of Object.entries(route.answers)) {
      assert.notEqual(answer.description, '', id)
      // The one refusal with a JSON body: the variable that another writer has changed meanwhile.
      if (Number(status) < 400 || (status === '409' && id.endsWith('Variable'))) continue
      assert.equal(answer.contentType, 'text/plain; charset=utf-8', `${id} ${status}`)
    }
  }
})

test('every route below the root says in a sentence what it does and what it needs', () => {
  for (const [id, route] of routes) {
    assert.ok(route.path.startsWith(`${v1.V1_ROOT}/`), id)
    assert.match(route.summary, /^[A-Z].*\.$/, id)
    assert.notEqual(route.needs, '', id)
  }
})

for (const { method, path, blocking } of SPEC_ROUTES) {
  test(`endpoints: ${method} ${path}${blocking ? ' blocks' : ''}`, () => {
    const found = routes.find(
      ([, route]) => route.path === `/v1${path}` && route.methods.some((one) => one === method),
    )
    assert.ok(found, 'no such route')
    assert.equal(found[1].blocking === true, blocking)
  })
}

test('every endpoint beside the listed ones exists', () => {
  const known = routes.flatMap(([, route]) =>
    route.methods.map((method) => `${method} ${route.path.replaceAll(/:\w+/g, ':')}`),
  )
  const wanted = ADDITIONAL_ROUTES.map((line) => line.replace(' ', ' /v1').replaceAll(/:\w+/g, ':'))
  assert.deepEqual(
    wanted.filter((line) => !known.includes(line)),
    [],
  )
})

test('the namespace capabilities that routes need are words of the access rules', () => {
  const known: readonly string[] = v1.NAMESPACE_CAPABILITIES
  for (const [id, route] of routes) {
    for (const [, word] of route.needs.matchAll(/namespace:([a-z-]+)/g)) {
      assert.ok(word !== undefined && known.includes(word), `${id}: ${word}`)
    }
  }
})

for (const { shape, at, fields } of SPEC_FIELDS) {
  test(`resources: ${[shape, ...at].join('.')} has every field of the document`, () => {
    const start = shapes.find(({ name }) => name === shape)
    assert.ok(start, 'no such shape')
    const target = at.reduce(fieldOf, start.schema)
    const names = Object.keys(objectIn(target).properties)
    assert.deepEqual(
      fields.filter((field) => !names.includes(field)),
      [],
    )
  })
}

test('events: every event type of the document is known', () => {
  const known: readonly string[] = v1.EVENT_TYPES
  assert.deepEqual(
    SPEC_EVENT_TYPES.filter((type) => !known.includes(type)),
    [],
  )
})

test('every topic has a payload', () => {
  assert.deepEqual(Object.keys(v1.EventPayloads), [...v1.EVENT_TOPICS])
})

test('a shape that is a record carries its exported name, so that one name means one shape', () => {
  for (const { name, schema } of shapes) {
    if (Type.IsObject(schema) && !name.endsWith('Query')) {
      assert.equal(Reflect.get(schema, '$id'), name)
    }
  }
})

test('one $id never stands for two different schemas', () => {
  const seen = new Map<string, string>()
  JSON.stringify([...shapes, ...routes], (_key, value: unknown) => {
    if (typeof value === 'object' && value !== null && '$id' in value) {
      const id = String(value.$id)
      const text = JSON.stringify(value)
      assert.equal(seen.get(id) ?? text, text, id)
      seen.set(id, text)
    }
    return value
  })
  assert.ok(seen.size > 100)
})

for (const { name, schema } of shapes) {
  test(`${name} accepts its emptiest and its fullest value`, () => {
    assert.ok(Value.Check(schema, build(schema, 'empty')), 'emptiest')
    assert.ok(Value.Check(schema, build(schema, 'full')), 'fullest')
  })
}

test('a record that lacks a documented field is refused', () => {
  for (const { name, schema } of shapes) {
    if (!Type.IsObject(schema)) continue
    for (const field of schema.required ?? []) {
      const value: Record<string, unknown> = Object.fromEntries(
        Object.entries(schema.properties)
          .filter(([key]) => key !== field)
          .map(([key, inner]) => [key, build(inner, 'empty')]),
      )
      assert.equal(Value.Check(schema, value), false, `${name} without ${field}`)
    }
  }
})

test('query parameters are text, numbers, flags or lists of text: what can be parsed', () => {
  for (const [id, route] of routes) {
    for (const [name, schema] of Object.entries(route.query?.properties ?? {})) {
      const simple = [Type.IsString, Type.IsInteger, Type.IsBoolean, Type.IsEnum]
      const list = Type.IsArray(schema) && Type.IsString(schema.items)
      assert.ok(list || simple.some((is) => is(schema)), `${id} ${name}`)
    }
  }
})

test('the headers have neutral names', () => {
  assert.equal(v1.HEADERS.token, 'X-Service-Token')
  assert.equal(v1.HEADERS.nextToken, 'X-Service-NextToken')
})

test('the parser may leave any field of a job out, or null', () => {
  const { ParsedJob } = v1
  assert.ok(Value.Check(ParsedJob, {}))
  assert.ok(Value.Check(ParsedJob, { ID: 'a', Priority: null, TaskGroups: [{ Tasks: null }] }))
  assert.ok(Value.Check(ParsedJob, build(v1.Job, 'full')))
  assert.equal(Value.Check(ParsedJob, { TaskGroups: [{ Count: 'three' }] }), false)
})

/** The schema of a field, through lists, maps and nulls. */
function fieldOf(schema: TSchema, name: string): TSchema {
  const field = objectIn(schema).properties[name]
  assert.ok(field, `no field ${name}`)
  return field
}

function objectIn(schema: TSchema) {
  if (Type.IsObject(schema)) return schema
  if (Type.IsArray(schema)) return objectIn(schema.items)
  if (Type.IsRecord(schema)) return objectIn(Type.RecordValue(schema))
  if (Type.IsUnion(schema)) {
    const [first] = schema.anyOf
    assert.ok(first)
    return objectIn(first)
  }
  if (Type.IsCyclic(schema)) {
    const definition = schema.$defs[schema.$ref]
    assert.ok(definition)
    return objectIn(definition)
  }
  return assert.fail('not a record')
}

type Fill = 'empty' | 'full'

/** A value of the schema: `empty` omits and nulls what it may, `full` fills everything once. */
function build(schema: TSchema, fill: Fill): unknown {
  if (Type.IsObject(schema)) return buildObject(schema, fill)
  if (Type.IsArray(schema)) return fill === 'full' ? [build(schema.items, fill)] : []
  if (Type.IsRecord(schema)) {
    return fill === 'full' ? { 'any key': build(Type.RecordValue(schema), fill) } : {}
  }
  if (Type.IsUnion(schema)) return build(variantFor(schema.anyOf, fill), fill)
  if (Type.IsCyclic(schema)) {
    const definition = schema.$defs[schema.$ref]
    assert.ok(definition)
    // One level is enough: filling a schema that holds itself would never end.
    return build(definition, 'empty')
  }
  if (Type.IsEnum(schema)) return schema.enum.at(fill === 'full' ? -1 : 0)
  if (Type.IsString(schema)) return textOf(Reflect.get(schema, 'format'))
  if (Type.IsInteger(schema) || Type.IsNumber(schema)) return 0
  if (Type.IsBoolean(schema)) return false
  if (Type.IsNull(schema)) return null
  // What is left is unknown or made by InputSchema: an empty object is a value of both.
  return {}
}

function buildObject(schema: TObject, fill: Fill): Record<string, unknown> {
  // TypeBox leaves `required` out when every field is optional, whatever its type says.
  const required: readonly string[] = schema.required ?? []
  const kept = Object.entries(schema.properties).filter(
    ([name]) => fill === 'full' || required.includes(name),
  )
  return Object.fromEntries(kept.map(([name, inner]) => [name, build(inner, fill)]))
}

function variantFor(variants: readonly TSchema[], fill: Fill): TSchema {
  const variant = variants.find((one) => Type.IsNull(one) === (fill === 'empty')) ?? variants[0]
  assert.ok(variant)
  return variant
}

function textOf(format: unknown): string {
  if (format === 'uuid') return '6f2e8a3c-0d1b-4c5e-9f7a-1b2c3d4e5f60'
  return format === 'date-time' ? '0001-01-01T00:00:00Z' : ''
}
