import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'

/** Requires a body: a missing one is undefined. */
export function requireBody<B>(body: B | undefined): Result<B, Refusal> {
  return body === undefined ? err(refusal('invalid-input', 'Request body is empty')) : ok(body)
}
