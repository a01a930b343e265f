import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox'

/** Records are never changed in place, so every type made from a schema is deeply readonly. */
export type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

/** The type of a record in responses: all fields are present, and may be null if declared so. */
export type Infer<S extends TSchema> = DeepReadonly<Static<S>>

/**
 * The type of a record in requests: every field may be absent or null, which means its default. So
 * one schema serves both directions.
 */
export type Input<T> = T extends readonly (infer E)[]
  ? readonly Input<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Input<T[K]> | null | undefined }
    : T

/** An object schema with the name, and the description, that it has in the API document. */
export function Named<P extends TProperties>($id: string, fields: P): TObject<P>
export function Named<P extends TProperties>(
  $id: string,
  description: string,
  fields: P,
): TObject<P>
export function Named($id: string, description: string | TProperties, fields: TProperties = {}) {
  if (typeof description !== 'string') return Type.Object(description, { $id })
  return Type.Object(fields, { $id, description })
}

/** A value or null, which is the wire form of an unset pointer, list or map. */
export function Nullable<S extends TSchema>(schema: S) {
  return Type.Union([schema, Type.Null()])
}

/**
 * Nanoseconds on the wire: a duration, or a time since the epoch. See kit/duration.ts for why it is
 * a plain number.
 */
export function Nanoseconds(description?: string) {
  return Type.Integer({
    format: 'nanoseconds',
    ...(description === undefined ? {} : { description }),
  })
}

/** RFC 3339 in UTC; `0001-01-01T00:00:00Z` means never. */
export function Timestamp(description?: string) {
  return Type.String({ format: 'date-time', ...(description === undefined ? {} : { description }) })
}

/** A commit index: the position in the log. */
export function Index(description?: string) {
  return Type.Integer({ minimum: 0, ...(description === undefined ? {} : { description }) })
}

/** A map with string keys and values of one type. */
export function MapOf<S extends TSchema>(value: S) {
  return Type.Record(Type.String(), value)
}
