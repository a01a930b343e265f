import type { TSchema } from 'typebox'

/** A response with a JSON:API body. */
export function answer<S extends TSchema>(description: string, schema: S) {
  return { description, schema } as const
}

/** 204 and 202 responses: no body. */
export function emptyAnswer<const D extends string>(description: D) {
  return { description } as const
}
