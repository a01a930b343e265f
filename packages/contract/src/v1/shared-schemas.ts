/**
 * The vocabulary of the files of `/v1`, which import it as `t`: constructors of TypeBox, schemas of
 * the wire, query parameters and responses.
 */

import { Type, type TSchema } from 'typebox'

export {
  Array,
  Boolean,
  Cyclic,
  Enum,
  Integer,
  Literal,
  Null,
  Number,
  Object,
  Optional,
  Partial,
  Ref,
  String,
  Union,
  Unknown,
} from 'typebox'
export * from '../schema.ts'
export * from './query.ts'

/** Media type of errors: every error of this API is one line of plain text. */
export const TEXT_TYPE = 'text/plain; charset=utf-8'

export function jsonResponse<S extends TSchema>(schema: S, description: string) {
  return { description, schema }
}

/** Response without a body: status 200. */
export function emptyResponse(description: string) {
  return { description }
}

export function binaryResponse(description: string) {
  return { description, schema: Type.String(), contentType: 'application/octet-stream' }
}

export function textError(description: string) {
  return { description, schema: Type.String(), contentType: TEXT_TYPE }
}

/** Error of routes that forward to a node. */
export const nodeTimeout = textError('The node did not answer in time.')

function usualError(description: string) {
  return { ...textError(description), isUsual: true }
}

export const permissionDenied = usualError(
  '`Permission denied`: the token does not hold what the route needs.',
)

/** Errors that every route may return besides its own; `define.ts` adds them to each. */
export const COMMON_ERRORS = {
  400: usualError('A query parameter or the body cannot be read; the text names it.'),
  403: permissionDenied,
  429: usualError('Too many connections or requests; `Retry-After` says how long to wait.'),
  500: usualError('A fault of the server.'),
  503: usualError('`No cluster leader`'),
} as const

/** Error of a path for a method that none of its routes has. */
export const METHOD_NOT_ALLOWED = textError('`Invalid method`')

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
