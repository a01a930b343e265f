import { Type } from 'typebox'

/**
 * Identifiers of allocations, evaluations, nodes and deployments are UUIDs. Only the record's own
 * identifier uses this: a reference to another record may be empty.
 */
export function Uuid(description?: string) {
  return Type.String({ format: 'uuid', ...(description === undefined ? {} : { description }) })
}

/** Bytes as standard base64 with padding. */
export function Base64(description?: string) {
  return Type.String({
    contentEncoding: 'base64',
    ...(description === undefined ? {} : { description }),
  })
}

/** An object that is stored and returned without being interpreted. */
export function OpaqueObject(description: string) {
  return Type.Record(Type.String(), Type.Unknown(), { description })
}
