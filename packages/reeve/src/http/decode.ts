import { LIMITS } from '../model/index.ts'

/** The part of JSON Schema that the contract's TypeBox schemas use. */
export interface JsonSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly patternProperties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly anyOf?: readonly JsonSchema[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
}

/** A body that is JSON but not of the route's shape. */
export class ShapeError extends Error {
  /** Where, as a person writes it: `Job.TaskGroups[0].Count`. */
  readonly path: string

  constructor(path: string, found: unknown, wanted: string) {
    super(`json: cannot unmarshal ${jsonTypeOf(found)} into field ${path} of type ${wanted}`)
    this.path = path
  }
}

/** Turns a parsed JSON value into a record of the schema's shape, or throws a ShapeError. */
export type Decoder = (value: unknown, path: string) => unknown

/**
 * Reference §0.2: names match in any case (the exact one wins), unknown fields are ignored, null
 * leaves a field unset. So the result has only known names in their own spelling and no nulls.
 * Compiled once per schema.
 */
export function compileDecoder(schema: JsonSchema): Decoder {
  if (schema.anyOf !== undefined) return decodeUnion(schema.anyOf)
  if (schema.const !== undefined) return decodeOneOf([schema.const])
  if (schema.enum !== undefined) return decodeOneOf(schema.enum)
  switch (schema.type) {
    case 'object':
      return schema.properties === undefined ? decodeMap(schema) : decodeObject(schema.properties)
    case 'array':
      return decodeArray(schema.items ?? {})
    case 'string':
      return decodePlain('string')
    case 'boolean':
      return decodePlain('boolean')
    case 'number':
      return decodePlain('number')
    case 'integer':
      return decodeInteger
    default:
      return decodeAnything
  }
}

function decodeObject(properties: Readonly<Record<string, JsonSchema>>): Decoder {
  const fields = new Map<string, { readonly name: string; readonly decode: Decoder }>()
  for (const [name, schema] of Object.entries(properties)) {
    // Compiling at first use keeps recursive and rarely sent shapes out of start-up.
    let decode: Decoder | undefined
    const lazily: Decoder = (value, path) => (decode ??= compileDecoder(schema))(value, path)
    fields.set(name.toLowerCase(), { name, decode: lazily })
  }
  return (value, path) => {
    const source = recordAt(value, path)
    const decoded: Record<string, unknown> = {}
    for (const [key, inner] of Object.entries(source)) {
      const field = fields.get(key.toLowerCase())
      if (field === undefined || inner === null) continue
      if (key !== field.name && Object.hasOwn(source, field.name)) continue
      decoded[field.name] = field.decode(inner, path === '' ? field.name : `${path}.${field.name}`)
    }
    return decoded
  }
}

function decodeMap(schema: JsonSchema): Decoder {
  const [valueSchema = {}] = Object.values(schema.patternProperties ?? {})
  const decode = compileDecoder(valueSchema)
  return (value, path) => {
    const entries = Object.entries(recordAt(value, path)).filter(([, inner]) => inner !== null)
    // fromEntries defines own properties, so a key named __proto__ stays data.
    return Object.fromEntries(
      entries.map(([key, inner]) => [key, decode(inner, `${path}[${key}]`)]),
    )
  }
}

function decodeArray(items: JsonSchema): Decoder {
  const decode = compileDecoder(items)
  return (value, path) => {
    if (!Array.isArray(value)) throw new ShapeError(path, value, 'array')
    return value.map((inner, i) => decode(inner, `${path}[${i}]`))
  }
}

function decodeUnion(choices: readonly JsonSchema[]): Decoder {
  const decoders = choices.filter((choice) => choice.type !== 'null').map(compileDecoder)
  return (value, path) => {
    let last: unknown
    for (const decode of decoders) {
      try {
        return decode(value, path)
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
  return (value, path) => {
    if (!wanted.includes(value)) throw new ShapeError(path, value, names)
    return value
  }
}

function decodePlain(type: 'string' | 'boolean' | 'number'): Decoder {
  return (value, path) => {
    // eslint-style typeof comparison on purpose: JSON's types are exactly these.
    if (typeof value !== type) throw new ShapeError(path, value, type)
    return value
  }
}

function decodeInteger(value: unknown, path: string): unknown {
  if (typeof value !== 'number' || !Number.isInteger(value))
    throw new ShapeError(path, value, 'integer')
  return value
}

function decodeAnything(value: unknown, path: string): unknown {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.jsonDepthMax)
      throw new ShapeError(path, value, `JSON at most ${LIMITS.jsonDepthMax} levels deep`)
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    )
  }
  return value
}

function recordAt(value: unknown, path: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ShapeError(path, value, 'object')
  // Proved above: a JSON value that is an object and no array has string keys.
  return value as Record<string, unknown>
}

function jsonTypeOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value
}
