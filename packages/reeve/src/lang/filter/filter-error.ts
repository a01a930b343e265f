/** Why a filter was rejected. The message follows a fixed prefix. */
export interface FilterError {
  /** `filter-invalid`: syntax error. `filter-failed`: the filter cannot be applied to a row. */
  readonly code: 'filter-invalid' | 'filter-failed'
  readonly message: string
}

export function evaluationError(message: string): FilterError {
  return { code: 'filter-failed', message }
}
