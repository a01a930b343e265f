import type { RemoteError } from '@reeve/contract'
import { errorMessage, redactPaths } from '@reeve/kit/fault.ts'

interface RemoteRefusalOptions {
  readonly code?: string
  readonly cause?: unknown
}

/** A request that this node rejects. */
export class RemoteRefusal extends Error {
  override readonly name: string = 'RemoteRefusal'
  readonly status: number
  /** One of the codes that servers know (`refusalFromNode`), where the status says too little. */
  readonly code: string | undefined

  constructor(status: number, message: string, options: RemoteRefusalOptions = {}) {
    super(message, options)
    this.status = status
    this.code = options.code
  }
}

/** Messages are truncated: they may contain output of a driver or a task. */
const MESSAGE_CHARS_MAX = 4_096

/** Converts an error to the form that is sent to the server. */
export function toRemoteError(thrown: unknown): RemoteError {
  const status = thrown instanceof RemoteRefusal ? thrown.status : 500
  const fullMessage = status >= 500 ? redactPaths(errorMessage(thrown)) : errorMessage(thrown)
  const code = thrown instanceof RemoteRefusal ? thrown.code : undefined
  const message = fullMessage.slice(0, MESSAGE_CHARS_MAX)
  return code === undefined ? { status, message } : { status, message, code }
}
