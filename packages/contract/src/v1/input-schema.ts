import { Type, type Static, type TObject, type TSchema } from 'typebox'
import { Nullable, type Input } from '../shape.ts'

/**
 * The schema of the same record as a request may carry it: every field may be absent or null, at
 * every depth (reference §0.2). `Input<T>` is its type; the API page and the answer of the parser
 * use it.
 */
export function InputSchema<S extends TSchema>(schema: S, options: { readonly $id?: string } = {}) {
  return Type.Unsafe<Input<Static<S>>>({ ...relax(schema), ...options })
}

function relax(schema: TSchema): TSchema {
  if (Type.IsObject(schema)) return relaxObject(schema)
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
 * The relaxed form is another shape, so it has another `$id` than the one it was made from. It has
 * one, so that the API page writes it once.
 */
function optionsOf(schema: TSchema): { $id?: string; description?: string } {
  const id: unknown = Reflect.get(schema, '$id')
  const text: unknown = Reflect.get(schema, 'description')
  return {
    ...(typeof id === 'string' ? { $id: `Parsed${id}` } : {}),
    ...(typeof text === 'string' ? { description: text } : {}),
  }
}
