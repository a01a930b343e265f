import type { Location } from '../syntax/problem.ts'

export const EVALUATION_CODES = [
  'eval_conflict_error',
  'eval_type_error',
  'eval_builtin_error',
  'eval_cancel_error',
  'eval_limit_error',
] as const

/** Why an evaluation has no answer. */
export interface EvaluationError {
  readonly code: (typeof EVALUATION_CODES)[number]
  readonly message: string
  readonly location: Location | undefined
}

/**
 * Ends an evaluation from wherever it is. Thrown inside the folder only: it crosses the closures of
 * all rules on the way, and `evaluate` turns it into a Result.
 */
export class EvaluationAborted extends Error {
  override readonly name = 'Halt'
  readonly problem: EvaluationError
  constructor(problem: EvaluationError) {
    super(problem.message)
    this.problem = problem
  }
}
