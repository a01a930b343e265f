import { EXIT_CODES } from './exit-code.ts'

/** The command line does not make sense; says what would. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

interface FailureOptions {
  /** `failed` unless given. */
  readonly code?: number
  /** What to do next; may have several lines. */
  readonly hint?: string
}

/** The command did not succeed, for a reason that is already a sentence for a person. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure'
  readonly code: number
  readonly hint: string | undefined

  constructor(message: string, options: FailureOptions = {}) {
    super(message)
    this.code = options.code ?? EXIT_CODES.failed
    this.hint = options.hint
  }
}
