import type { TSchema } from 'typebox'
import { BinaryBody, BINARY_TYPE } from './json-api.ts'

/** A response with a JSON:API body. */
export function jsonResponse<S extends TSchema>(description: string, schema: S) {
  return { description, schema } as const
}

/** 204 and 202 responses: no body. */
export function emptyResponse<const D extends string>(description: D) {
  return { description } as const
}

/** A response whose body is bytes. */
export function binaryResponse(description: string) {
  return { ...jsonResponse(description, BinaryBody), contentType: BINARY_TYPE } as const
}

/** Common part of routes that store a file of a runner and respond with 204. */
export function storesBinary(bodyBytesMax: number) {
  return {
    audit: 'none',
    bodyBytesMax,
    body: BinaryBody,
    bodyType: BINARY_TYPE,
    answers: { 204: emptyResponse('Stored.') },
  } as const
}
