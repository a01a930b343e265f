/**
 * Why a filter was refused. The message is the detail that follows the two fixed prefixes of
 * reference §2.2.
 */
export interface FilterError {
  /** `filter-invalid`: the text is not a filter. `filter-failed`: it cannot be applied to a row. */
  readonly code: 'filter-invalid' | 'filter-failed'
  readonly message: string
}

export function failed(message: string): FilterError {
  return { code: 'filter-failed', message }
}
