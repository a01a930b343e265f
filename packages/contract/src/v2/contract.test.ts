import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TSchema } from 'typebox'
import type { Method, Route } from '../route.ts'
import { list, read, update } from './define.ts'
import {
  BASE_PATH,
  BINARY_TYPE,
  BinaryBody,
  DocumentOf,
  ErrorDocument,
  PageOf,
} from './json-api.ts'
import {
  PAGE_SIZE_DEFAULT,
  POLICY_UPLOAD_BYTES_MAX,
  PROJECT_DESCRIPTION_LENGTH_MAX,
  PROJECT_NAME_LENGTH_MAX,
  PROJECT_NAME_LENGTH_MIN,
  TAG_BINDINGS_MAX,
  TAG_KEY_LENGTH_MAX,
  TAG_VALUE_LENGTH_MAX,
} from './limits.ts'
import { ALL_ENFORCEMENT_LEVELS, ENFORCEMENT_LEVELS, POLICY_KINDS } from './policy.ts'
import { Project } from './project.ts'
import { v2Routes } from './routes.ts'

const routes: readonly Route[] = Object.values(v2Routes)

/** As much of JSON Schema as these tests read. */
interface JsonSchema {
  readonly $id?: string
  readonly pattern?: string
  readonly properties?: { readonly [name: string]: JsonSchema }
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
}

test('every route is filed under its own id', () => {
  for (const [key, { id }] of Object.entries<Route>(v2Routes)) assert.equal(key, id)
})

test('no two routes have the same method and path', () => {
  const calls = routes.flatMap(({ methods, path }) =>
    // Two paths that differ in parameter names only would meet in the router.
    methods.map((method) => `${method} ${path.replaceAll(/:[a-z_]+/g, ':')}`),
  )
  assert.equal(new Set(calls).size, calls.length)
})

test('every path is below the base path and has no trailing slash', () => {
  for (const { path } of routes) assert.match(path, /^\/api\/v2(?:\/[a-z0-9-]+|\/:[a-z_]+)+$/)
})

test('every parameter of a path is declared, and no other', () => {
  for (const { id, path, params } of routes) {
    const named = [...path.matchAll(/:([a-z_]+)/g)].map((match) => String(match[1]))
    assert.deepEqual(Object.keys(params?.properties ?? {}).toSorted(), named.toSorted(), id)
  }
})

test('a route that returns a resource has its document or page, and its sparse fieldset', () => {
  const fields = { summary: 'Show it.', returns: Project, needs: 'Read access.' }
  const one = read('/projects/:project_id', fields)
  assert.deepEqual(one.answers[200].schema, DocumentOf(Project))
  assert.deepEqual(Object.keys(one.query.properties), ['fields[projects]'])
  assert.equal(one.answers[404].description, 'Project not found, or the caller may not see it.')
  const many = list('/projects', fields)
  assert.deepEqual(many.answers[200].schema, PageOf(Project))
  assert.ok('fields[projects]' in many.query.properties)
  assert.ok(!('query' in update('/projects/:project_id', fields)))
})

test('every route says what it does, where it belongs and who may call it', () => {
  for (const { id, summary, section, needs } of routes) {
    assert.match(summary, /^[A-Z].*\.$/, id)
    assert.match(section, /^[A-Z]/, id)
    assert.match(needs, /^(?:none|[A-Z].*\.)$/, id)
  }
})

test('every route can succeed, and all its refusals carry an error document', () => {
  for (const { id, answers } of routes) {
    const statuses = Object.keys(answers).map(Number)
    assert.ok(
      statuses.some((status) => status >= 200 && status < 300),
      id,
    )
    for (const status of statuses.filter((each) => each >= 400)) {
      assert.equal(answers[status]?.schema, ErrorDocument, `${id} ${status}`)
    }
    for (const status of [204, 304]) assert.equal(answers[status]?.schema, undefined, id)
  }
})

test('every route names the refusals that any caller may meet', () => {
  for (const { id, body, answers } of routes) {
    const expected = [400, 401, 429, 500, 503, ...(body === undefined ? [] : [413, 415, 422])]
    for (const status of expected) assert.ok(answers[status], `${id} ${status}`)
  }
})

test('raw bodies are octets and all others JSON:API', () => {
  for (const { id, methods, body, bodyType } of routes) {
    assert.equal(bodyType, methods[0] === 'PUT' ? BINARY_TYPE : undefined, id)
    if (methods[0] === 'PUT') assert.equal(body, BinaryBody, id)
    if (methods[0] === 'GET') assert.equal(body, undefined, id)
  }
})

test('a schema id stands for one shape only', () => {
  const shapes = new Map<string, string>()
  for (const schema of routes.flatMap(schemasOf)) {
    for (const named of namedSchemas(schema)) {
      const text = JSON.stringify(named)
      assert.equal(shapes.get(named.$id) ?? text, text, named.$id)
      shapes.set(named.$id, text)
    }
  }
  assert.ok(shapes.size > 100)
})

function schemasOf({ body, answers }: Route): readonly TSchema[] {
  const answered = Object.values(answers).map((answer) => answer.schema)
  return [body, ...answered].filter((schema) => schema !== undefined)
}

function namedSchemas(schema: JsonSchema): readonly (JsonSchema & { readonly $id: string })[] {
  const parts = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(schema.anyOf ?? []),
  ].flatMap(namedSchemas)
  return schema.$id === undefined ? parts : [{ ...schema, $id: schema.$id }, ...parts]
}

test('every pattern is anchored at both ends', () => {
  for (const schema of routes.flatMap(schemasOf)) {
    for (const pattern of patternsOf(schema)) {
      assert.doesNotThrow(() => new RegExp(pattern, 'u'))
      assert.match(pattern, /^\^/)
      if (pattern !== '^/') assert.match(pattern, /\$$/)
    }
  }
})

function patternsOf(schema: JsonSchema): readonly string[] {
  const inner = [
    ...Object.values(schema.properties ?? {}),
    ...(schema.items === undefined ? [] : [schema.items]),
    ...(schema.anyOf ?? []),
  ].flatMap(patternsOf)
  return schema.pattern === undefined ? inner : [schema.pattern, ...inner]
}

// Where the spec shows no status of success, it is the one of the choices or the reference.
const endpoints: readonly (readonly [Method, string, readonly number[]])[] = [
  ['POST', '/organizations/:organization_name/projects', [201]],
  ['PATCH', '/projects/:project_id', [200]],
  ['GET', '/organizations/:organization_name/projects', [200]],
  ['GET', '/projects/:project_id', [200]],
  ['DELETE', '/projects/:project_id', [204, 403, 404, 422]],
  ['GET', '/projects/:project_id/tag-bindings', [200]],
  ['GET', '/projects/:project_id/effective-tag-bindings', [200]],
  ['PATCH', '/projects/:project_id/tag-bindings', [200]],
  ['POST', '/projects/:project_id/relationships/workspaces', [204, 403, 404]],
  ['POST', '/organizations/:organization_name/policies', [200, 404, 422]],
  ['GET', '/policies/:policy_id', [200, 404]],
  ['PUT', '/policies/:policy_id/upload', [200, 413]],
  ['PATCH', '/policies/:policy_id', [200, 404, 422]],
  ['GET', '/organizations/:organization_name/policies', [200, 404]],
  ['DELETE', '/policies/:policy_id', [204, 404]],
  ['GET', '/policies/:policy_id/download', [200, 404]],
]

function routeOf(method: Method, path: string): Route {
  const found = routes.find(
    (each) => each.path === BASE_PATH + path && each.methods.includes(method),
  )
  assert.ok(found, `${method} ${path}`)
  return found
}

for (const [method, path, statuses] of endpoints) {
  test(`${method} ${path} answers ${statuses.join(', ')}`, () => {
    const { answers } = routeOf(method, path)
    for (const status of statuses) assert.ok(answers[status], String(status))
    const successes = Object.keys(answers).filter((status) => status.startsWith('2'))
    assert.deepEqual(successes, [String(statuses[0])])
  })
}

// Policies, List policies.
const queries: readonly (readonly [Method, string, readonly string[]])[] = [
  [
    'GET',
    '/organizations/:organization_name/projects',
    [
      'page[number]',
      'page[size]',
      'q',
      'filter[names]',
      'filter[permissions][create-workspace]',
      'filter[permissions][update]',
      'sort',
    ],
  ],
  [
    'GET',
    '/organizations/:organization_name/policies',
    ['page[number]', 'page[size]', 'search[name]', 'filter[kind]', 'include'],
  ],
  ['GET', '/policies/:policy_id', ['include']],
]

for (const [method, path, names] of queries) {
  test(`${method} ${path} takes ${names.join(', ')}`, () => {
    const known = Object.keys(routeOf(method, path).query?.properties ?? {})
    for (const name of names) assert.ok(known.includes(name), name)
  })
}

test('every list can be paged, except the ones that never are', () => {
  const unpaged = new Set([
    'EffectiveTagBindingList',
    'ProjectNamespaceList',
    'RunEventList',
    'RunPolicyVersionList',
    'StateVersionOutputList',
    'TagBindingList',
    'VariableSetVariableList',
    'WorkspaceTagList',
    'WorkspaceVariableList',
  ])
  const lists = routes.filter((each) => each.id.startsWith('list'))
  for (const { id, methods, query, answers } of lists) {
    const answered: JsonSchema = answers[200]?.schema ?? {}
    const paged = 'page[number]' in (query?.properties ?? {})
    assert.equal(methods[0], 'GET', id)
    assert.equal(paged, !unpaged.has(answered.$id ?? ''), id)
    assert.equal('meta' in (answered.properties ?? {}), paged, id)
  }
})

test('the limits are those of the spec', () => {
  assert.deepEqual(
    [PROJECT_NAME_LENGTH_MIN, PROJECT_NAME_LENGTH_MAX, PROJECT_DESCRIPTION_LENGTH_MAX],
    [3, 40, 256],
  )
  assert.deepEqual([TAG_BINDINGS_MAX, TAG_KEY_LENGTH_MAX, TAG_VALUE_LENGTH_MAX], [10, 128, 256])
  assert.deepEqual([POLICY_UPLOAD_BYTES_MAX, PAGE_SIZE_DEFAULT], [10_485_760, 20])
})

test('every level of any kind is one that some kind allows, and the reverse', () => {
  const allowed = new Set<string>(POLICY_KINDS.flatMap((kind) => ENFORCEMENT_LEVELS[kind]))
  assert.deepEqual([...ALL_ENFORCEMENT_LEVELS].toSorted(), [...allowed].toSorted())
})
