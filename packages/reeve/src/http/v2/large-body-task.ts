import { v2, type Route } from '@reeve/contract'
import type { JsonBytes } from '@reeve/kit/json.ts'
import type { Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { readDocument } from './json-documents.ts'
import { compileValidator, type Validated, type Validator } from './body-validation.ts'

/** A body to be parsed and validated on the thread. */
export interface LargeBodyTask {
  /** Route whose schema the body must match. */
  readonly routeId: string
  readonly bytes: Uint8Array
}

export type LargeBodyOutcome = Result<Validated, GovernanceRefusal>

/** Parses and validates on the thread; compiles the schema of a route with its first body. */
export class LargeBodyWorker {
  readonly #validators = new Map<string, Validator>()

  run({ routeId, bytes: { buffer, byteOffset, byteLength } }: LargeBodyTask): LargeBodyOutcome {
    return readDocument(this.#validatorOf(routeId), Buffer.from(buffer, byteOffset, byteLength))
  }

  #validatorOf(routeId: string): Validator {
    const cached = this.#validators.get(routeId)
    if (cached !== undefined) return cached
    const { body } = findRoute(routeId)
    if (body === undefined) throw new Error(`the route ${routeId} has no body`)
    const validator = compileValidator(body, sharedJson)
    this.#validators.set(routeId, validator)
    return validator
  }
}

function findRoute(routeId: string): Route {
  const routes: Readonly<Record<string, Route>> = v2.v2Routes
  const route = routes[routeId]
  if (route === undefined) throw new Error(`the contract has no route ${routeId}`)
  return route
}

/** Encodes JSON into memory that other threads read without a copy. */
function sharedJson(value: unknown): JsonBytes {
  const text = JSON.stringify(value)
  const shared = new SharedArrayBuffer(Buffer.byteLength(text))
  Buffer.from(shared).write(text)
  return { json: new Uint8Array(shared) }
}
