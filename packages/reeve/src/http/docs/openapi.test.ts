import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v1Routes, v2, type Route } from '@reeve/contract'
import { openApiDocument, routeSignatures } from './openapi.ts'

const routes: readonly Route[] = [...Object.values(v1Routes), ...Object.values(v2.v2Routes)]
const document = openApiDocument(routes, '1.2.3')
const text = JSON.stringify(document)

/** Clients download it, and generators read all of it. */
const DOCUMENT_BYTES_MAX = 705_000

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required: boolean
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly responses: Readonly<Record<string, object>>
}

/** The value that a reference of the document points to. */
function resolve(ref: string): unknown {
  assert.match(ref, /^#\/components\/(?:schemas|parameters|responses)\/[A-Za-z0-9._-]+$/)
  const names = ref.slice(2).split('/')
  return names.reduce<unknown>((at, name) => Reflect.get(Object(at), name), document)
}

interface PathItem {
  readonly parameters?: readonly Parameter[]
}

/** Every operation with the parameters of its path and its own, references resolved. */
function operations() {
  // `openApiDocument` writes path items below `paths`.
  const paths = Object.entries(document['paths'] as Record<string, PathItem>)
  return paths.flatMap(([path, { parameters: shared = [], ...methods }]) =>
    // All other members of a path item are operations.
    Object.entries(methods as Record<string, Operation>).map(([method, operation]) => ({
      path,
      method,
      operation,
      parameters: [...shared, ...(operation.parameters ?? [])].map((parameter) =>
        // A reference below `parameters` leads to a parameter.
        parameter.$ref === undefined ? parameter : (resolve(parameter.$ref) as Parameter),
      ),
    })),
  )
}

function routeOf(path: string, method: string): Route | undefined {
  return routes.find(
    (one) =>
      one.path.replaceAll(/:(\w+)/g, '{$1}') === path &&
      one.methods.some((each) => each.toLowerCase() === method),
  )
}

test('every reference of the document has a target', () => {
  const refs = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = '']) => ref)
  // Schemas that contain themselves refer to a definition of their own.
  const own = refs.filter((ref) => ref.startsWith('#/'))
  assert.ok(own.length > 1_000)
  for (const ref of new Set(own)) assert.notEqual(resolve(ref), undefined, ref)
})

test('an operation exists for every method of every route, with an id of its own', () => {
  const all = operations()
  assert.equal(all.length, routes.flatMap(({ methods }) => methods).length)
  assert.equal(new Set(all.map(({ operation }) => operation.operationId)).size, all.length)
})

test('the parameters of an operation are those of its route, each once', () => {
  for (const { path, method, parameters } of operations()) {
    const route = routeOf(path, method)
    const names = (place: string) => parameters.filter((one) => one.in === place).map(nameOf)
    const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name)
    assert.deepEqual(names('path').toSorted(), inPath.toSorted(), path)
    assert.deepEqual(
      names('query').toSorted(),
      Object.keys(route?.query?.properties ?? {}).toSorted(),
      path,
    )
    assert.ok(parameters.every((one) => one.in !== 'path' || one.required))
  }
})

test('every operation has a response of success and the usual errors', () => {
  for (const { path, method, operation } of operations()) {
    const statuses = Object.keys(operation.responses)
    const what = `${method} ${path}: ${statuses.join(' ')}`
    assert.ok(
      statuses.some((status) => /^[123]/.test(status)),
      what,
    )
    const isOpen = routeOf(path, method)?.needs === 'none'
    const ofToken = path.startsWith('/v1/') ? (isOpen ? [] : ['403']) : ['401']
    const usual = descriptionOf(operation.responses['default'] ?? {})
    for (const status of ['400', '429', '500', '503', ...ofToken])
      assert.ok(
        statuses.includes(status) || usual.includes(`- ${status}: `),
        `${what} lacks ${status}`,
      )
  }
})

test('the document and the signatures do not depend on the order of the routes', () => {
  const reversed = routes.toReversed()
  assert.equal(JSON.stringify(openApiDocument(reversed, '1.2.3')), text)
  assert.equal(routeSignatures(reversed), routeSignatures(routes))
})

test('a nullable value and a map have the forms that generators of clients understand', () => {
  assert.doesNotMatch(text, /"anyOf":\[\{"type":"\w+"\},\{"type":"null"\}\]/)
  assert.doesNotMatch(text, /patternProperties/)
  const { properties } = Object(resolve('#/components/schemas/Job'))
  assert.deepEqual(properties.Affinities, {
    type: ['array', 'null'],
    items: { $ref: '#/components/schemas/Affinity' },
  })
})

test('the document stays within its size', () => {
  assert.ok(text.length <= DOCUMENT_BYTES_MAX, `${text.length} bytes`)
})

test('a signature names method, path, parameters, body, statuses and rights', () => {
  const lines = routeSignatures([v1Routes.registerJob]).split('\n')
  assert.equal(lines[0], 'POST|PUT /v1/jobs registerJob')
  assert.equal(lines[1], '  query region namespace pretty')
  assert.equal(lines[2], '  body JobRegisterRequest')
  assert.match(lines[3] ?? '', /^ {2}responses 200:JobWriteResponse 400 403 .*409/)
  assert.match(lines[4] ?? '', /^ {2}needs namespace:submit-job or namespace:register-job/)
})

function descriptionOf(response: object): string {
  const ref: unknown = Reflect.get(response, '$ref')
  const resolved = typeof ref === 'string' ? resolve(ref) : response
  return String(Reflect.get(Object(resolved), 'description'))
}

function nameOf({ name }: Parameter): string {
  return name
}
