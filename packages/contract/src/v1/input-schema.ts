import { Type, type Static, type TObject, type TSchema } from 'typebox'
import { Nullable, type Input } from '../shape.ts'

/**
 * Returns the schema of the record in a request: every field may be absent or null, at every
 * depth. `Input<T>` is its type. The API document and the response of the parser use it.
 */
export function InputSchema<S extends TSchema>(schema: S, options: { readonly $id?: string } = {}) {
  return Type.Unsafe<Input<Static<S>>>({ ...relax(schema), ...options })
}

/** Caches relaxed records, because records are part of many others: a job is in six requests. */
const relaxedRecords = new WeakMap<TSchema, TSchema>()

function relax(schema: TSchema): TSchema {
  if (Type.IsObject(schema)) {
    const relaxed = relaxedRecords.get(schema) ?? relaxObject(schema)
    relaxedRecords.set(schema, relaxed)
    return relaxed
  }
  if (Type.IsArray(schema)) return Type.Array(relax(schema.items), optionsOf(schema))
  if (Type.IsRecord(schema)) {
    return Type.Record(Type.String(), relax(Type.RecordValue(schema)), optionsOf(schema))
  }
  if (Type.IsUnion(schema)) return Type.Union(schema.anyOf.map(relax), optionsOf(schema))
  return schema
}

function relaxObject(schema: TObject): TSchema {
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const relaxed = relax(field)
    return [name, Type.Optional(acceptsNull(relaxed) ? relaxed : Nullable(relaxed))] as const
  })
  return Type.Object(Object.fromEntries(fields), optionsOf(schema))
}

function acceptsNull(schema: TSchema): boolean {
  return Type.IsNull(schema) || (Type.IsUnion(schema) && schema.anyOf.some(acceptsNull))
}

/**
 * Keywords that define the structure of a schema; all others are names, descriptions and bounds.
 */
const STRUCTURE = new Set(['type', 'properties', 'required', 'items', 'anyOf', 'patternProperties'])

/**
 * Returns the options of the relaxed form. It has an `$id` of its own, because its shape differs
 * and the API document should contain it once.
 */
function optionsOf(schema: TSchema): Readonly<Record<string, unknown>> {
  const own = Object.entries(schema).filter(([key]) => !STRUCTURE.has(key) && !key.startsWith('~'))
  return Object.fromEntries(
    own.map(([key, value]) => [key, key === '$id' ? `${String(value)}Input` : value]),
  )
}
