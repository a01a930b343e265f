import { Type, type Static, type TObject, type TSchema } from 'typebox'
import { Nullable, type Input } from '../schema.ts'

/**
 * Returns the schema of the record in a request: every field may be absent or null, at every
 * depth. `Input<T>` is its type. The API document and the response of the parser use it.
 */
export function InputSchema<S extends TSchema>(schema: S, options: { readonly $id?: string } = {}) {
  return Type.Unsafe<Input<Static<S>>>({ ...makePartial(schema), ...options })
}

/** Caches relaxed records, because records are part of many others: a job is in six requests. */
const partialRecords = new WeakMap<TSchema, TSchema>()

function makePartial(schema: TSchema): TSchema {
  if (Type.IsObject(schema)) {
    const relaxed = partialRecords.get(schema) ?? makeObjectPartial(schema)
    partialRecords.set(schema, relaxed)
    return relaxed
  }
  if (Type.IsArray(schema))
    return Type.Array(makePartial(schema.items), nonStructuralOptions(schema))
  if (Type.IsRecord(schema)) {
    return Type.Record(
      Type.String(),
      makePartial(Type.RecordValue(schema)),
      nonStructuralOptions(schema),
    )
  }
  if (Type.IsUnion(schema))
    return Type.Union(schema.anyOf.map(makePartial), nonStructuralOptions(schema))
  return schema
}

function makeObjectPartial(schema: TObject): TSchema {
  const fields = Object.entries(schema.properties).map(([name, field]) => {
    const relaxed = makePartial(field)
    return [name, Type.Optional(acceptsNull(relaxed) ? relaxed : Nullable(relaxed))] as const
  })
  return Type.Object(Object.fromEntries(fields), nonStructuralOptions(schema))
}

function acceptsNull(schema: TSchema): boolean {
  return Type.IsNull(schema) || (Type.IsUnion(schema) && schema.anyOf.some(acceptsNull))
}

/**
 * Keywords that define the structure of a schema; all others are names, descriptions and bounds.
 */
const STRUCTURAL_KEYWORDS = new Set([
  'type',
  'properties',
  'required',
  'items',
  'anyOf',
  'patternProperties',
])

/**
 * Returns the options of the relaxed form. It has an `$id` of its own, because its shape differs
 * and the API document should contain it once.
 */
function nonStructuralOptions(schema: TSchema): Readonly<Record<string, unknown>> {
  const own = Object.entries(schema).filter(
    ([key]) => !STRUCTURAL_KEYWORDS.has(key) && !key.startsWith('~'),
  )
  return Object.fromEntries(
    own.map(([key, value]) => [key, key === '$id' ? `${String(value)}Input` : value]),
  )
}
