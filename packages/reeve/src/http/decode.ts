import type { HttpAliases } from '../compat/index.ts'
import { LIMITS } from '../model/index.ts'

/** The part of JSON Schema that the contract's TypeBox schemas use. */
export interface JsonSchema {
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly readOnly?: boolean
}

/** A JSON body that does not match the schema of the route. */
export class ShapeError extends Error {
  /** Path of the field: `Job.TaskGroups[0].Count`. */
  readonly path: string
  readonly #actualType: string
  readonly #expectedType: string

  constructor(found: string, wanted: string, path = '') {
    const place = path === '' ? 'a value' : `field ${path}`
    super(`json: cannot unmarshal ${found} into ${place} of type ${wanted}`)
    this.path = path
    this.#actualType = found
    this.#expectedType = wanted
  }

  /** Returns the error with the path prefixed by a step: the name of a field, or `[key]`. */
  within(step: string): ShapeError {
    const isJoined = this.path === '' || this.path.startsWith('[')
    const path = isJoined ? step + this.path : `${step}.${this.path}`
    return new ShapeError(this.#actualType, this.#expectedType, path)
  }
}

/**
 * Converts a parsed JSON value to the schema's shape, or throws a ShapeError. The path of an error
 * is built while it propagates, so valid values pay nothing for it.
 */
export type Decoder = (value: unknown) => unknown

function shapeError(found: unknown, expectedType: string): ShapeError {
  return new ShapeError(jsonTypeOf(found), expectedType)
}

function withPath(thrown: unknown, step: string): unknown {
  return thrown instanceof ShapeError ? thrown.within(step) : thrown
}

/**
 * Compiles a decoder. Field names match in any case (an exact match wins), unknown fields are
 * ignored, and null leaves a field unset: the result has only known names in their canonical
 * spelling, and no nulls. Compiled once per schema.
 */
export function compileDecoder(schema: JsonSchema, names: BodyAliases = NO_BODY_ALIASES): Decoder {
  if (schema.anyOf !== undefined) return decodeUnion(schema.anyOf, names)
  if (schema.const !== undefined) return decodeOneOf([schema.const])
  if (schema.enum !== undefined) return decodeOneOf(schema.enum)
  switch (schema.type) {
    case 'object':
      return schema.properties === undefined
        ? decodeMap(schema, names)
        : decodeObject(schema.properties, names)
    case 'array':
      return decodeArray(schema.items ?? {}, names)
    case 'string':
      return decodePrimitive('string')
    case 'boolean':
      return decodePrimitive('boolean')
    case 'number':
      return decodePrimitive('number')
    case 'integer':
      return schema.format === undefined ? decodeInteger : decodeLongInteger
    default:
      return decodeAnything
  }
}

/** Aliases of fields, and of the values of some fields. */
export type BodyAliases = Pick<HttpAliases, 'fields' | 'values'>

const NO_BODY_ALIASES: BodyAliases = { fields: {}, values: {} }

/** Read-only fields occur in responses; a request that repeats a response may contain any value. */
function isReadOnly({ readOnly, anyOf = [] }: JsonSchema): boolean {
  return readOnly === true || anyOf.some(isReadOnly)
}

interface Field {
  readonly name: string
  readonly decode: Decoder
}

function decodeObject(
  properties: Readonly<Record<string, JsonSchema>>,
  names: BodyAliases,
): Decoder {
  const fields = new Map<string, Field>()
  const fieldsByLowerCase = new Map<string, Field>()
  for (const [name, schema] of Object.entries(properties)) {
    if (isReadOnly(schema)) continue
    // Compiled on first use: schemas may be recursive, and most are rarely sent.
    let decode: Decoder | undefined
    const compile = (): Decoder =>
      withValueAliases(compileDecoder(schema, names), names.values[name])
    const field = { name, decode: (value: unknown) => (decode ??= compile())(value) }
    fields.set(name, field)
    fieldsByLowerCase.set(name.toLowerCase(), field)
  }
  for (const [alias, name] of Object.entries(names.fields)) {
    const field = fields.get(name)
    if (field !== undefined && !fields.has(alias)) fieldsByLowerCase.set(alias.toLowerCase(), field)
  }
  return (value) => {
    const source = asJsonObject(value)
    const decoded: Record<string, unknown> = {}
    for (const key of Object.keys(source)) {
      const inner = source[key]
      if (inner === null) continue
      const field = fields.get(key) ?? fieldsByLowerCase.get(key.toLowerCase())
      if (field === undefined) continue
      if (key !== field.name && Object.hasOwn(source, field.name)) continue
      try {
        decoded[field.name] = field.decode(inner)
      } catch (thrown) {
        throw withPath(thrown, field.name)
      }
    }
    return decoded
  }
}

/** Replaces aliases of values before they are decoded. */
function withValueAliases(
  decode: Decoder,
  aliases: Readonly<Record<string, string>> | undefined,
): Decoder {
  if (aliases === undefined) return decode
  return (value) =>
    decode(typeof value === 'string' && Object.hasOwn(aliases, value) ? aliases[value] : value)
}

function decodeMap(schema: JsonSchema, names: BodyAliases): Decoder {
  const [valueSchema = {}] = Object.values(schema.patternProperties ?? {})
  const decode = compileDecoder(valueSchema, names)
  // If null is a value of the schema, it is kept.
  const allowsNull = valueSchema.anyOf?.some(({ type }) => type === 'null') === true
  return (value) => {
    const entries = Object.entries(asJsonObject(value)).filter(
      ([, inner]) => allowsNull || inner !== null,
    )
    for (const entry of entries)
      try {
        if (entry[1] !== null) entry[1] = decode(entry[1])
      } catch (thrown) {
        throw withPath(thrown, `[${entry[0]}]`)
      }
    // fromEntries defines own properties, so a key named __proto__ stays data.
    return Object.fromEntries(entries)
  }
}

function decodeArray(items: JsonSchema, names: BodyAliases): Decoder {
  const decode = compileDecoder(items, names)
  return (value) => {
    if (!Array.isArray(value)) throw shapeError(value, 'array')
    return value.map((inner, i) => {
      try {
        return decode(inner)
      } catch (thrown) {
        throw withPath(thrown, `[${i}]`)
      }
    })
  }
}

function decodeUnion(choices: readonly JsonSchema[], names: BodyAliases): Decoder {
  const decoders = choices
    .filter((choice) => choice.type !== 'null')
    .map((choice) => compileDecoder(choice, names))
  const [only] = decoders
  if (only !== undefined && decoders.length === 1) return only
  return (value) => {
    let lastError: unknown
    for (const decode of decoders) {
      try {
        return decode(value)
      } catch (thrown) {
        if (!(thrown instanceof ShapeError)) throw thrown
        lastError = thrown
      }
    }
    throw lastError
  }
}

function decodeOneOf(allowed: readonly unknown[]): Decoder {
  const names = allowed.map((one) => JSON.stringify(one)).join(' or ')
  return (value) => {
    if (!allowed.includes(value)) throw shapeError(value, names)
    return value
  }
}

function decodePrimitive(type: 'string' | 'boolean' | 'number'): Decoder {
  return (value) => {
    // eslint-style typeof comparison on purpose: JSON's types are exactly these.
    if (typeof value !== type) throw shapeError(value, type)
    return value
  }
}

/** Larger numbers are not exact: another value would be stored than the one that was sent. */
const decodeInteger = integerWithin(Number.MAX_SAFE_INTEGER)

/**
 * 64-bit integers, for fields with a format. Nanoseconds need them: durations of over 105 days, and
 * the timestamps of a job that is sent as it was read.
 */
const decodeLongInteger = integerWithin(2 ** 63 - 1024)

function integerWithin(max: number): Decoder {
  return (value) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) throw shapeError(value, 'integer')
    // Without the number itself: its digits differ from those that were sent.
    if (Math.abs(value) > max)
      throw shapeError(value, `integer: it is too large, beyond ±${BigInt(max)}`)
    return value
  }
}

function decodeAnything(value: unknown): unknown {
  if (!isContainer(value)) return value
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.jsonDepthMax)
      throw shapeError(value, `JSON at most ${LIMITS.jsonDepthMax} levels deep`)
    level = level.filter(isContainer).flatMap((one) => Object.values(one))
  }
  return value
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function asJsonObject(value: unknown): Readonly<Record<string, unknown>> {
  if (!isContainer(value) || Array.isArray(value)) throw shapeError(value, 'object')
  // Proof: a JSON value that is an object and not an array has string keys.
  return value as Record<string, unknown>
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
}
