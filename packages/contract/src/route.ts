import type { TObject, TSchema } from 'typebox'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/** One documented answer of a route. No schema: the body is empty. */
export interface Answer {
  readonly description: string
  readonly schema?: TSchema
  /** Defaults to the dialect's JSON type. */
  readonly contentType?: string
}

/**
 * One route of the contract. The server mounts it with a handler, the SDK calls it, the OpenAPI
 * page shows it; none of them spells a path, parameter or shape of its own.
 */
export interface Route {
  /** Unique name, used as operationId and as the SDK's method name. */
  readonly id: string
  /** All methods that do the same (spec W: "POST or PUT"). The first is the one the SDK uses. */
  readonly methods: readonly Method[]
  /** From the root, with `:name` parameters: `/v1/job/:job_id/scale`. */
  readonly path: string
  readonly summary: string
  /** Heading under which the documentation lists it: `Jobs`, `Projects`, … */
  readonly section: string
  readonly params?: TObject
  readonly query?: TObject
  readonly body?: TSchema
  /** Content type of the body when it is not the dialect's JSON. */
  readonly bodyType?: string
  readonly answers: { readonly [status: number]: Answer }
  /** Spec W "Blocking = yes": the route takes `index` and `wait`. */
  readonly blocking?: boolean
  /** What the caller must hold, in the words of the spec; `none` when anyone may call. */
  readonly needs: string
  /** True for routes that end in a WebSocket or an endless body instead of one answer. */
  readonly streams?: boolean
}

/** Keeps the literal types of a route so that handlers and SDK methods are typed by it. */
export function route<const R extends Route>(definition: R): R {
  return definition
}
