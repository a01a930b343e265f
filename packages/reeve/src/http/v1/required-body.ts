import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusal, type Refusal } from '../../model/index.ts'

/** A body that must be there: the shell hands on a missing one as undefined. */
export function requiredBody<B>(body: B | undefined): Result<B, Refusal> {
  return body === undefined ? err(refusal('invalid-input', 'Request body is empty')) : ok(body)
}
