import { v2, type Route } from '@reeve/contract'
import type { JsonBytes } from '@reeve/kit/json.ts'
import type { Result } from '@reeve/kit/result.ts'
import type { GovernanceRefusal } from '../../model/index.ts'
import { readDocument } from './read-document.ts'
import { compileValidator, type Validated, type Validator } from './validate.ts'

/** A body that the thread parses and validates. */
export interface LargeBodyTask {
  /** The route whose schema the body has to match. */
  readonly routeId: string
  readonly bytes: Uint8Array
}

export type LargeBodyOutcome = Result<Validated, GovernanceRefusal>

/** The work of the thread; compiles the schema of a route with the first body of it. */
export class LargeBodyReader {
  readonly #validators = new Map<string, Validator>()

  run({ routeId, bytes: { buffer, byteOffset, byteLength } }: LargeBodyTask): LargeBodyOutcome {
    return readDocument(this.#validatorOf(routeId), Buffer.from(buffer, byteOffset, byteLength))
  }

  #validatorOf(routeId: string): Validator {
    const known = this.#validators.get(routeId)
    if (known !== undefined) return known
    const { body } = routeOf(routeId)
    if (body === undefined) throw new Error(`the route ${routeId} has no body`)
    const validator = compileValidator(body, sharedJson)
    this.#validators.set(routeId, validator)
    return validator
  }
}

function routeOf(routeId: string): Route {
  const routes: Readonly<Record<string, Route>> = v2.v2Routes
  const route = routes[routeId]
  if (route === undefined) throw new Error(`the contract has no route ${routeId}`)
  return route
}

/** In memory that other threads read without a copy. */
function sharedJson(value: unknown): JsonBytes {
  const text = JSON.stringify(value)
  const shared = new SharedArrayBuffer(Buffer.byteLength(text))
  Buffer.from(shared).write(text)
  return { json: new Uint8Array(shared) }
}
