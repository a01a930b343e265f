import type { TSchema } from 'typebox'
import { Octets, OCTETS_TYPE } from './json-api.ts'

/** A response with a JSON:API body. */
export function answer<S extends TSchema>(description: string, schema: S) {
  return { description, schema } as const
}

/** 204 and 202 responses: no body. */
export function emptyAnswer<const D extends string>(description: D) {
  return { description } as const
}

/** A response whose body is bytes. */
export function octetsAnswer(description: string) {
  return { ...answer(description, Octets), contentType: OCTETS_TYPE } as const
}

/** Common part of routes that store a file of a runner and respond with 204. */
export function storesOctets(bodyBytesMax: number) {
  return {
    audit: 'none',
    bodyBytesMax,
    body: Octets,
    bodyType: OCTETS_TYPE,
    answers: { 204: emptyAnswer('Stored.') },
  } as const
}
