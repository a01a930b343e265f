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

/** A body that is JSON but not of the route's shape. */
export class ShapeError extends Error {
  /** Where, as a person writes it: `Job.TaskGroups[0].Count`. */
  readonly path: string
  readonly #found: string
  readonly #wanted: string

  constructor(found: string, wanted: string, path = '') {
    const place = path === '' ? 'a value' : `field ${path}`
    super(`json: cannot unmarshal ${found} into ${place} of type ${wanted}`)
    this.path = path
    this.#found = found
    this.#wanted = wanted
  }

  /** The same, seen from outside: `step` is a field's name, or `[key]`. */
  within(step: string): ShapeError {
    const isJoined = this.path === '' || this.path.startsWith('[')
    const path = isJoined ? step + this.path : `${step}.${this.path}`
    return new ShapeError(this.#found, this.#wanted, path)
  }
}

/**
 * Turns a parsed JSON value into a record of the schema's shape, or throws a ShapeError. Where it
 * is wrong is put together on the way out, so that what is right pays nothing for it.
 */
export type Decoder = (value: unknown) => unknown

function shapeError(found: unknown, wanted: string): ShapeError {
  return new ShapeError(jsonTypeOf(found), wanted)
}

function placed(thrown: unknown, step: string): unknown {
  return thrown instanceof ShapeError ? thrown.within(step) : thrown
}

/**
 * Names match in any case (the exact one wins), unknown fields are ignored, null leaves a field
 * unset. So the result has only known names in their own spelling and no nulls. Compiled once per
 * schema.
 */
export function compileDecoder(schema: JsonSchema, names: BodyAliases = OWN_NAMES): Decoder {
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
      return decodePlain('string')
    case 'boolean':
      return decodePlain('boolean')
    case 'number':
      return decodePlain('number')
    case 'integer':
      return schema.format === undefined ? decodeInteger : decodeLongInteger
    default:
      return decodeAnything
  }
}

/** Aliases of fields, and of the values of some fields. */
export type BodyAliases = Pick<HttpAliases, 'fields' | 'values'>

const OWN_NAMES: BodyAliases = { fields: {}, values: {} }

/** Answers carry it, and a request that repeats an answer may hold anything there. */
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
  const inAnyCase = new Map<string, Field>()
  for (const [name, schema] of Object.entries(properties)) {
    if (isReadOnly(schema)) continue
    // Compiling at first use keeps recursive and rarely sent shapes out of start-up.
    let decode: Decoder | undefined
    const make = (): Decoder => withValueAliases(compileDecoder(schema, names), names.values[name])
    const field = { name, decode: (value: unknown) => (decode ??= make())(value) }
    fields.set(name, field)
    inAnyCase.set(name.toLowerCase(), field)
  }
  for (const [other, name] of Object.entries(names.fields)) {
    const field = fields.get(name)
    if (field !== undefined && !fields.has(other)) inAnyCase.set(other.toLowerCase(), field)
  }
  return (value) => {
    const source = recordOf(value)
    const decoded: Record<string, unknown> = {}
    for (const key of Object.keys(source)) {
      const inner = source[key]
      if (inner === null) continue
      const field = fields.get(key) ?? inAnyCase.get(key.toLowerCase())
      if (field === undefined) continue
      if (key !== field.name && Object.hasOwn(source, field.name)) continue
      try {
        decoded[field.name] = field.decode(inner)
      } catch (thrown) {
        throw placed(thrown, field.name)
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
  // Where null is a value of its own, it is one that the request sets.
  const keepsNull = valueSchema.anyOf?.some(({ type }) => type === 'null') === true
  return (value) => {
    const entries = Object.entries(recordOf(value)).filter(
      ([, inner]) => keepsNull || inner !== null,
    )
    for (const entry of entries)
      try {
        if (entry[1] !== null) entry[1] = decode(entry[1])
      } catch (thrown) {
        throw placed(thrown, `[${entry[0]}]`)
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
        throw placed(thrown, `[${i}]`)
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
    let last: unknown
    for (const decode of decoders) {
      try {
        return decode(value)
      } catch (thrown) {
        if (!(thrown instanceof ShapeError)) throw thrown
        last = thrown
      }
    }
    throw last
  }
}

function decodeOneOf(wanted: readonly unknown[]): Decoder {
  const names = wanted.map((one) => JSON.stringify(one)).join(' or ')
  return (value) => {
    if (!wanted.includes(value)) throw shapeError(value, names)
    return value
  }
}

function decodePlain(type: 'string' | 'boolean' | 'number'): Decoder {
  return (value) => {
    // eslint-style typeof comparison on purpose: JSON's types are exactly these.
    if (typeof value !== type) throw shapeError(value, type)
    return value
  }
}

/** Beyond these a number stands for its neighbours too: another one would be kept than was sent. */
const decodeInteger = integerWithin(Number.MAX_SAFE_INTEGER)

/**
 * 64 bits, for what is marked with a format. Nanoseconds need them: those of 105 days, and those
 * since the epoch in a job that is sent as it was read.
 */
const decodeLongInteger = integerWithin(2 ** 63 - 1024)

function integerWithin(max: number): Decoder {
  return (value) => {
    if (typeof value !== 'number' || !Number.isInteger(value)) throw shapeError(value, 'integer')
    // Without the number: its digits are not those that were sent.
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

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (!isContainer(value) || Array.isArray(value)) throw shapeError(value, 'object')
  // Proved above: a JSON value that is an object and no array has string keys.
  return value as Record<string, unknown>
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
}
