/** Why a filter was rejected. The message is the detail that follows a fixed prefix. */
export interface FilterError {
  /** `filter-invalid`: the text is not a filter. `filter-failed`: it cannot be applied to a row. */
  readonly code: 'filter-invalid' | 'filter-failed'
  readonly message: string
}

export function failed(message: string): FilterError {
  return { code: 'filter-failed', message }
}
