import { Type, type Static, type TProperties, type TSchema } from 'typebox'

/** Records are never changed in place, so every type made from a schema is deeply readonly. */
export type DeepReadonly<T> = T extends readonly (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends object
    ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
    : T

/** The type of a record as responses carry it: every field present, null where it may be. */
export type Shape<S extends TSchema> = DeepReadonly<Static<S>>

/**
 * The type of the same record as a request carries it. Every field may be absent or null (null
 * leaves a field at its default), so one schema serves both directions.
 */
export type Input<T> = T extends readonly (infer E)[]
  ? readonly Input<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: Input<T[K]> | null | undefined }
    : T

/** A record with the name that the API document has for it. */
export function Named<P extends TProperties>($id: string, fields: P) {
  return Type.Object(fields, { $id })
}

/** A value or null: the wire's way to show an unset pointer, list or map. */
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

/** A position of the one monotonic change counter. */
export function Index(description?: string) {
  return Type.Integer({ minimum: 0, ...(description === undefined ? {} : { description }) })
}

/** Map of string keys to one kind of value; keys are data, so they keep their case. */
export function MapOf<S extends TSchema>(value: S) {
  return Type.Record(Type.String(), value)
}
