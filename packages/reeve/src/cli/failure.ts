import { EXIT_CODES } from './exit-code.ts'

/** The command line is invalid. The message says what is expected. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

interface CommandErrorOptions {
  /** `failed` unless given. */
  readonly code?: number
  /** What to do next; may have several lines. */
  readonly hint?: string
}

/** The command failed. The message is a sentence for the user. */
export class CommandError extends Error {
  override readonly name = 'CommandFailure'
  readonly code: number
  readonly hint: string | undefined

  constructor(message: string, options: CommandErrorOptions = {}) {
    super(message)
    this.code = options.code ?? EXIT_CODES.failed
    this.hint = options.hint
  }
}
