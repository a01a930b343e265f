import type { Answer, Route } from '@reeve/contract'

type Json = Readonly<Record<string, unknown>>

/** OpenAPI 3.1 of the routes that exist: made from the same schemas that validate and type them. */
export function openApiDocument(routes: readonly Route[], version: string): Json {
  const components = new Components()
  const paths: Record<string, Record<string, Json>> = {}
  for (const route of [...routes].toSorted(
    (a, b) => compare(a.path, b.path) || compare(a.id, b.id),
  )) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    const operations = (paths[path] ??= {})
    route.methods.forEach((method, i) => {
      operations[method.toLowerCase()] = operation(
        route,
        i === 0 ? route.id : `${route.id}By${method}`,
        components,
      )
    })
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Reeve',
      version,
      description: 'One program that says what may run, and runs it.',
    },
    paths,
    components: {
      schemas: components.sorted(),
      securitySchemes: {
        serviceToken: { type: 'apiKey', in: 'header', name: 'X-Service-Token' },
        bearer: { type: 'http', scheme: 'bearer' },
      },
    },
    security: [{ serviceToken: [] }, { bearer: [] }],
  }
}

function operation(route: Route, operationId: string, components: Components): Json {
  const notes = [`Needs: ${route.needs.replace(/\.$/, '')}.`]
  if (route.blocking === true) notes.push('Blocking queries: yes.')
  const jsonType = route.path.startsWith('/api/v2')
    ? 'application/vnd.api+json'
    : 'application/json'
  const isLenient = route.path.startsWith('/v1')
  const body =
    route.body === undefined
      ? {}
      : {
          requestBody: {
            content: {
              [route.bodyType ?? jsonType]: { schema: components.refer(route.body, isLenient) },
            },
          },
        }
  return {
    operationId,
    summary: route.summary,
    description: notes.join(' '),
    tags: [route.section],
    parameters: [...parameters(route, 'path'), ...parameters(route, 'query')],
    ...body,
    responses: Object.fromEntries(
      Object.entries(route.answers).map(([status, answer]) => [
        status,
        response(answer, jsonType, components),
      ]),
    ),
  }
}

function response(answer: Answer, jsonType: string, components: Components): Json {
  if (answer.schema === undefined) return { description: answer.description }
  const content = { [answer.contentType ?? jsonType]: { schema: components.refer(answer.schema) } }
  return { description: answer.description, content }
}

function parameters(route: Route, place: 'path' | 'query'): Json[] {
  const schema = place === 'path' ? route.params : route.query
  const required = new Set<string>(
    place === 'path' ? Object.keys(schema?.properties ?? {}) : (schema?.required ?? []),
  )
  return Object.entries(schema?.properties ?? {}).map(([name, property]) => {
    const { description, ...rest } = plain(property)
    return {
      name,
      in: place,
      required: required.has(name),
      ...(typeof description === 'string' ? { description } : {}),
      schema: rest,
    }
  })
}

/** Named schemas, each written once and referred to by name everywhere. */
class Components {
  readonly #schemas = new Map<string, Json>()

  /**
   * With `isInput`, the shape as `/v1` takes it in a request: every field may be absent (reference
   * §0.2).
   */
  refer(schema: object, isInput = false): Json {
    const { $id, ...all } = plain(schema)
    const { required: _required, ...relaxed } = all
    const rest = isInput ? relaxed : all
    if (typeof $id !== 'string') return this.#inside(rest, isInput)
    const name = isInput && !$id.endsWith('Request') ? `${$id}Input` : $id
    if (!this.#schemas.has(name)) {
      // Entered before it is filled, so that a shape that contains itself ends.
      this.#schemas.set(name, {})
      this.#schemas.set(name, this.#inside(rest, isInput))
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  sorted(): Json {
    return Object.fromEntries([...this.#schemas].toSorted(([a], [b]) => compare(a, b)))
  }

  #inside(schema: Json, isInput: boolean): Json {
    return Object.fromEntries(
      Object.entries(schema).map(([key, value]) => [key, this.#value(key, value, isInput)]),
    )
  }

  #value(key: string, value: unknown, isInput: boolean): unknown {
    if (Array.isArray(value))
      return value.map((one: unknown) => (isObject(one) ? this.refer(one, isInput) : one))
    if (!isObject(value)) return value
    // `properties` and `patternProperties` map names to schemas; they are no schemas themselves.
    if (key === 'properties' || key === 'patternProperties')
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [
          name,
          isObject(inner) ? this.refer(inner, isInput) : inner,
        ]),
      )
    return this.refer(value, isInput)
  }
}

/**
 * A schema as data: TypeBox's own marks (`~kind` and the like) are not enumerable and fall away.
 */
function plain(schema: object): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !key.startsWith('~')))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
