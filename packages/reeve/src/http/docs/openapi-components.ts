export type Json = Readonly<Record<string, unknown>>

/**
 * Named schemas; each is written once and referenced by name. Most operations have the same
 * parameters, errors and parts of schemas; inlined copies would triple the size of the document.
 */
export class SchemaComponents {
  readonly #schemas = new Map<string, Json>()

  reference(schema: object): Json {
    const { $id, ...rest } = plainSchema(schema)
    if (typeof $id !== 'string') return this.#referenceChildren(rest)
    if (!this.#schemas.has($id)) {
      // Registered before its content, so that recursive schemas terminate.
      this.#schemas.set($id, {})
      this.#schemas.set($id, this.#referenceChildren(rest))
    }
    return { $ref: `#/components/schemas/${$id}` }
  }

  /** Returns the schemas by name; parts that several of them repeat are schemas of their own. */
  sorted(): Json {
    const named = [...this.#schemas].toSorted(([a], [b]) => compare(a, b))
    const parts = new SharedComponents('schemas', isWorthSharing)
    for (const [, schema] of named) countParts(schema, parts)
    const { components, refer } = parts.finish()
    const all = [...named, ...Object.entries(components)]
    return Object.fromEntries(all.map(([name, schema]) => [name, referToParts(schema, refer)]))
  }

  #referenceChildren(schema: Json): Json {
    const entries = Object.entries(schema).map(([key, value]) => [key, this.#value(key, value)])
    return conciseSchema(Object.fromEntries(entries))
  }

  #value(key: string, value: unknown): unknown {
    if (Array.isArray(value))
      return value.map((one: unknown) => (isObject(one) ? this.reference(one) : one))
    if (!isObject(value)) return value
    // `properties` and `patternProperties` map names to schemas; they are no schemas themselves.
    if (key === 'properties' || key === 'patternProperties')
      return Object.fromEntries(
        Object.entries(value).map(([name, inner]) => [
          name,
          isObject(inner) ? this.reference(inner) : inner,
        ]),
      )
    return this.reference(value)
  }
}

/** The pattern of a map in which any name is allowed. */
const ANY_NAME = '^.*$'

/**
 * Returns an equal schema in a form that is shorter and that more generators of clients understand:
 * `type: [string, null]` instead of a union, and maps with `additionalProperties`.
 */
function conciseSchema(schema: Json): Json {
  const { patternProperties, anyOf, ...rest } = schema
  if (isObject(patternProperties) && Object.keys(patternProperties).join() === ANY_NAME)
    return { ...rest, additionalProperties: Reflect.get(patternProperties, ANY_NAME) }
  const [value, other, ...others]: readonly unknown[] = Array.isArray(anyOf) ? anyOf : []
  if (others.length > 0 || !isObject(value) || !isObject(other)) return schema
  const { type, ...members } = plainSchema(value)
  const isNullable = typeof type === 'string' && Reflect.get(other, 'type') === 'null'
  if (!isNullable || Object.keys(rest).some((key) => key in members)) return schema
  const { enum: values } = members
  const allowed = Array.isArray(values) ? { enum: [...values, null] } : {}
  return { type: [type, 'null'], ...members, ...allowed, ...rest }
}

type ReplacePart = (part: Json, name: string) => unknown

/** Members of a schema that hold schemas; other names are those of properties. */
const SCHEMA_MEMBERS = new Set(['properties', 'items', 'anyOf', 'additionalProperties'])

/**
 * Replaces the outermost schemas inside a value. Each is passed with the name of the property that
 * it belongs to.
 */
function mapParts(value: unknown, name: string, replace: ReplacePart): unknown {
  const mapPart = (part: unknown, nameOfPart: string): unknown =>
    isSchema(part) ? replace(part, nameOfPart) : mapParts(part, nameOfPart, replace)
  if (Array.isArray(value)) return value.map((part: unknown) => mapPart(part, name))
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, part]: readonly [string, unknown]) => {
    return [key, mapPart(part, SCHEMA_MEMBERS.has(key) ? name : key)] as const
  })
  return Object.fromEntries(entries)
}

/** Counts the schemas without a name inside a schema; what a repeated one holds counts once. */
function countParts(schema: unknown, parts: SharedComponents, name = ''): void {
  mapParts(schema, name, (part, nameOfPart) => {
    const isMap = 'additionalProperties' in part
    const isFirst = isMap || parts.add(part, `part ${identifiedType(part) ?? nameOfPart}`)
    if (isFirst) countParts(part, parts, nameOfPart)
    return part
  })
}

function referToParts(schema: unknown, refer: Refer): unknown {
  return mapParts(schema, '', (part) => {
    const reference = refer(part)
    return reference === part ? referToParts(part, refer) : reference
  })
}

/** Reports whether a value of a document is a schema, but no reference. */
function isSchema(value: unknown): value is Json {
  if (!isObject(value)) return false
  const { type, anyOf }: Json = { ...value }
  return typeof type === 'string' || Array.isArray(type) || Array.isArray(anyOf)
}

/** Returns the type of the resource that a `{ type, id }` identifies. */
function identifiedType({ properties }: Json): string | undefined {
  const type: unknown = isObject(properties) ? Reflect.get(properties, 'type') : undefined
  const name: unknown = isObject(type) ? Reflect.get(type, 'const') : undefined
  return typeof name === 'string' ? `${name} id` : undefined
}

/** Length of a reference to a component. */
const REFERENCE_LENGTH = 50
/** A component that saves less than this many characters is not worth another name. */
const SAVED_LENGTH_MIN = 50

function isWorthSharing(text: string, count: number): boolean {
  return (count - 1) * text.length - count * REFERENCE_LENGTH >= SAVED_LENGTH_MIN
}

/**
 * Copies a schema as plain data, without the members that only TypeBox (`~kind` and others) and the
 * validation of requests (`x-refusals` and others) read.
 */
export function plainSchema(schema: object): Json {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !/^(?:~|x-)/.test(key)))
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

type Refer = (value: Json) => Json

/** Parameters, responses or parts of schemas that occur several times in the document. */
export class SharedComponents {
  readonly #member: string
  readonly #isShared: (text: string, count: number) => boolean
  readonly #uses = new Map<string, { readonly value: Json; readonly hint: string; count: number }>()

  /** `place` is the member of `components` that contains the values. */
  constructor(
    place: 'schemas' | 'parameters' | 'responses',
    isShared: (text: string, count: number) => boolean = (_, count) => count > 1,
  ) {
    this.#member = place
    this.#isShared = isShared
  }

  /**
   * Counts one use, and reports whether it is the first. The component's name is derived from
   * `hint`.
   */
  add(value: Json, hint: string): boolean {
    const text = cachedJson(value)
    const use = this.#uses.get(text)
    if (use === undefined) this.#uses.set(text, { value, hint, count: 1 })
    else use.count += 1
    return use === undefined
  }

  /**
   * Returns the components by name, and a function that replaces a value by its reference. Call it
   * last.
   */
  finish(): { readonly components: Json; readonly refer: Refer } {
    const names = new Map<string, string>()
    const components: Record<string, Json> = {}
    const shared = [...this.#uses].filter(([text, { count }]) => this.#isShared(text, count))
    // Sorted by content, so that the names do not depend on the order of the routes.
    for (const [text, { value, hint }] of shared.toSorted(([a], [b]) => (a < b ? -1 : 1))) {
      const name = uniqueName(slug(hint), components)
      components[name] = value
      names.set(text, name)
    }
    const refer = (value: Json): Json => {
      const name = names.get(cachedJson(value))
      return name === undefined ? value : { $ref: `#/components/${this.#member}/${name}` }
    }
    return { components: sorted(components), refer }
  }
}

/** Cached JSON texts of values, which are compared several times. */
const jsonCache = new WeakMap<Json, string>()

export function cachedJson(value: Json): string {
  const cached = jsonCache.get(value)
  if (cached !== undefined) return cached
  const text = JSON.stringify(value)
  jsonCache.set(value, text)
  return text
}

/** Returns a valid component name: `page[size]` becomes `page-size`. */
function slug(hint: string): string {
  return (hint.match(/[A-Za-z0-9_]+/g) ?? []).join('-')
}

function uniqueName(baseName: string, existing: Json): string {
  let name = baseName
  for (let i = 2; Object.hasOwn(existing, name); i += 1) name = `${baseName}-${i}`
  return name
}

function sorted(components: Json): Json {
  return Object.fromEntries(Object.entries(components).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
