import { InputSchema, type RouteResponse, type Route } from '@reeve/contract'
import {
  compare,
  plainSchema,
  SchemaComponents,
  type Json,
  SharedComponents,
  cachedJson,
} from './openapi-components.ts'

/**
 * Returns the OpenAPI 3.1 document of the routes, generated from the schemas that validate and type
 * them.
 */
export function openApiDocument(routes: readonly Route[], version: string): Json {
  const schemas = new SchemaComponents()
  const registry = { schemas, responses: new Map<RouteResponse, Json>() }
  const operations = routes
    .toSorted((a, b) => compare(a.path, b.path) || compare(a.id, b.id))
    .flatMap((route) => operationsOf(route, registry))
  const shared = shareParts(operations)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Reeve',
      version,
      description: 'One program that says what may run, and runs it.',
    },
    paths: shared.paths,
    components: {
      schemas: schemas.sorted(),
      parameters: shared.parameters,
      responses: shared.responses,
      securitySchemes: {
        serviceToken: { type: 'apiKey', in: 'header', name: 'X-Service-Token' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
    security: [{ serviceToken: [] }, { bearer: [] }],
  }
}

/** One operation: a route with one of its methods. */
interface Operation {
  readonly path: string
  readonly method: string
  /** Members that operations never share. */
  readonly fields: Json
  readonly parameters: readonly Json[]
  readonly responses: Readonly<Record<string, Json>>
}

/** Components written so far. Most routes share the objects of their errors. */
interface ComponentRegistry {
  readonly schemas: SchemaComponents
  readonly responses: Map<RouteResponse, Json>
}

function operationsOf(route: Route, registry: ComponentRegistry): readonly Operation[] {
  const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
  const jsonType = isGovernance(route.path) ? 'application/vnd.api+json' : 'application/json'
  const parameters = [...parametersOf(route, 'path'), ...parametersOf(route, 'query')]
  const answers = Object.entries(route.answers)
  const usual = answers.filter(([, { isUsual }]) => isUsual === true)
  const described = answers
    .filter(([, { isUsual }]) => isUsual !== true)
    .map(([status, answer]) => [status, responseOf(answer, jsonType, registry)] as const)
  const byDefault = usual.length === 0 ? {} : { default: usualErrors(usual, jsonType, registry) }
  const responses = { ...Object.fromEntries(described), ...byDefault }
  return route.methods.map((method, i) => ({
    path,
    method: method.toLowerCase(),
    fields: {
      ...(i === 0 ? headOf(route) : headOfTwin(route, method)),
      tags: [route.section],
      ...requestBodyOf(route, jsonType, registry.schemas),
    },
    parameters,
    responses,
  }))
}

function shareParts(operations: readonly Operation[]) {
  const parameters = new SharedComponents('parameters')
  const responses = new SharedComponents('responses')
  for (const operation of operations) {
    for (const parameter of operation.parameters) parameters.add(parameter, nameHintOf(parameter))
    for (const [status, response] of Object.entries(operation.responses))
      responses.add(response, status === 'default' ? 'Errors' : `R${status}`)
  }
  const sealed = { parameters: parameters.finish(), responses: responses.finish() }
  return {
    paths: Object.fromEntries(
      [...Map.groupBy(operations, ({ path }) => path)].map(([path, ofPath]) => [
        path,
        pathItem(ofPath, sealed.parameters.refer, sealed.responses.refer),
      ]),
    ),
    parameters: sealed.parameters.components,
    responses: sealed.responses.components,
  }
}

type Refer = (value: Json) => Json

/** Returns the operations of one path. Parameters of all of them are written once for the path. */
function pathItem(operations: readonly Operation[], parameter: Refer, response: Refer): Json {
  const counts = new Map<string, number>()
  for (const text of operations.flatMap(({ parameters }) => parameters.map(cachedJson)))
    counts.set(text, (counts.get(text) ?? 0) + 1)
  const isCommon = (value: Json): boolean => counts.get(cachedJson(value)) === operations.length
  const common = (operations[0]?.parameters ?? []).filter(isCommon).map(parameter)
  const items = operations.map(({ method, fields, parameters, responses }) => {
    const rest = parameters.filter((value) => !isCommon(value)).map(parameter)
    const answers = Object.entries(responses).map(([status, value]) => [status, response(value)])
    return [
      method,
      {
        ...fields,
        ...(rest.length === 0 ? {} : { parameters: rest }),
        responses: Object.fromEntries(answers),
      },
    ]
  })
  return {
    ...(common.length === 0 ? {} : { parameters: common }),
    ...Object.fromEntries(items),
  }
}

function nameHintOf(parameter: Json): string {
  return String(parameter['name'])
}

function isGovernance(path: string): boolean {
  return path.startsWith('/api/v2')
}

function headOf({ id, summary, needs, blocking }: Route): Json {
  const notes = [`Needs: ${needs.replace(/\.$/, '')}.`]
  if (blocking === true) notes.push('Blocking queries: yes.')
  return { operationId: id, summary, description: notes.join(' ') }
}

/** Describes an equivalent method of a route by the first. */
function headOfTwin({ id, methods: [first = 'POST'] }: Route, method: string): Json {
  return { operationId: `${id}By${method}`, summary: `Equal to ${first}.` }
}

function requestBodyOf(
  { path, body, bodyType }: Route,
  jsonType: string,
  schemas: SchemaComponents,
) {
  if (body === undefined) return {}
  const schema = schemas.reference(isGovernance(path) ? body : inputOf(body))
  return { requestBody: { content: { [bodyType ?? jsonType]: { schema } } } }
}

/**
 * Returns the schema of a request body. Any field of a record of `/v1` may be absent or null in a
 * request.
 */
function inputOf(body: NonNullable<Route['body']>): object {
  const { $id } = plainSchema(body)
  // Schemas that are used only for requests keep their names.
  const isRequest = typeof $id === 'string' && $id.endsWith('Request')
  return InputSchema(body, isRequest ? { $id } : {})
}

/**
 * Returns one response for the errors that nearly every operation may return: with one for each
 * status, they would be a fifth of the document.
 */
function usualErrors(
  errors: readonly (readonly [status: string, error: RouteResponse])[],
  jsonType: string,
  registry: ComponentRegistry,
): Json {
  const lines = errors.map(([status, { description }]) => `- ${status}: ${description}`)
  const [first] = errors
  return responseOf({ ...first?.[1], description: lines.join('\n') }, jsonType, registry)
}

function responseOf(
  answer: RouteResponse,
  jsonType: string,
  { schemas, responses }: ComponentRegistry,
): Json {
  const { description, schema, contentType = jsonType } = answer
  const cached = responses.get(answer)
  if (cached !== undefined) return cached
  const content = schema === undefined ? {} : { content: contentOf(contentType, schema, schemas) }
  const response = { description, ...content }
  responses.set(answer, response)
  return response
}

function contentOf(contentType: string, schema: object, schemas: SchemaComponents): Json {
  const [mediaType = contentType] = contentType.split(';')
  return { [mediaType]: { schema: schemas.reference(schema) } }
}

function parametersOf(route: Route, location: 'path' | 'query'): Json[] {
  const schema = location === 'path' ? route.params : route.query
  const required = new Set<string>(
    location === 'path' ? Object.keys(schema?.properties ?? {}) : (schema?.required ?? []),
  )
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, ...rest } = plainSchema(property)
    return {
      name,
      in: location,
      ...(required.has(name) ? { required: true } : {}),
      ...(typeof description === 'string' ? { description } : {}),
      schema: rest,
    }
  })
}

/**
 * The public interface as text: for each route its methods and path, the parameters, the body, the
 * responses by status, and what the caller needs. The text is committed, so that a change of the
 * interface shows in review; the whole OpenAPI document would be too long to read.
 */
export function routeSignatures(routes: readonly Route[]): string {
  const sorted = routes.toSorted((a, b) => compare(a.path, b.path) || compare(a.id, b.id))
  return sorted.map((route) => `${signatureLines(route).join('\n  ')}\n`).join('')
}

function signatureLines(route: Route): readonly string[] {
  const required = new Set<string>(route.query?.required)
  const query = Object.keys(route.query?.properties ?? {})
  const body = route.body === undefined ? [] : [`body ${bodyText(route)}`]
  const kinds = [
    ...(route.blocking === true ? ['blocking'] : []),
    ...(route.streams === true ? ['streams'] : []),
  ]
  return [
    `${route.methods.join('|')} ${route.path} ${[route.id, ...kinds].join(' ')}`,
    ...(query.length === 0
      ? []
      : [`query ${query.map((name) => (required.has(name) ? `${name}!` : name)).join(' ')}`]),
    ...body,
    `responses ${responsesText(route)}`,
    `needs ${route.needs}`,
  ]
}

function bodyText({ body, bodyType }: Route): string {
  return [body === undefined ? '' : nameOf(body), bodyType].filter(Boolean).join(' ') || 'inline'
}

function responsesText({ answers }: Route): string {
  const texts = Object.entries(answers).map(([status, { schema }]) => {
    const name = schema === undefined || Number(status) >= 400 ? '' : nameOf(schema)
    return name === '' ? status : `${status}:${name}`
  })
  return texts.join(' ')
}

/** Returns the name of a schema; `Name[]` for a list of named schemas. */
function nameOf(schema: object): string {
  const id: unknown = Reflect.get(schema, '$id')
  if (typeof id === 'string') return id
  const items: unknown = Reflect.get(schema, 'items')
  const ofItem = typeof items === 'object' && items !== null ? nameOf(items) : ''
  return ofItem === '' ? '' : `${ofItem}[]`
}
