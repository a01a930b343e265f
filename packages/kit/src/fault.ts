/**
 * An environment failure (disk, network, process). Thrown; the loop that owns the effect retries or
 * reports it.
 */
export class Fault extends Error {
  override readonly name: string = 'Fault'
  /** Stable identifier of the failure, so that callers need not match on the message. */
  readonly kind: string

  constructor(kind: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
  }
}

/** Kind of a temporary fault: too many requests at once; nothing was done. */
export const OVERLOADED = 'overloaded'

/** Kind of a fault that lasts until an operator acts: memory is short. */
export const NO_CAPACITY = 'no-capacity'

/** Kind of a fault that lasts until the program is restarted. */
const PROGRAM_REPLACED = 'program-replaced'

const MISSING_MODULE = new Set<unknown>(['MODULE_NOT_FOUND', 'ERR_MODULE_NOT_FOUND'])

/**
 * Returns the Fault for an error of a module that was not found, and anything else unchanged. A
 * program loads some of its modules late, and an upgrade removes those of the program that runs.
 */
export function withReplacedProgram(thrown: unknown): unknown {
  if (!(thrown instanceof Error) || !MISSING_MODULE.has(Reflect.get(thrown, 'code'))) return thrown
  return new Fault(
    PROGRAM_REPLACED,
    'A part of this program is no longer on the disk, because it was upgraded or damaged. Restart it.',
    { cause: thrown },
  )
}

/** Checks an invariant. A failure is a programming error; the check is enabled in production. */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${why}`)
}

/**
 * Removes system calls and host paths from the message of a system error. API callers need the
 * reason and must not learn where files are.
 */
export function redactPaths(text: string): string {
  return text
    .replaceAll(/(\bE[A-Z0-9]+: [^,\n]+), \w+ '.*'/g, '$1')
    .replaceAll(/\bspawn \/\S+ (E[A-Z0-9]+)/g, 'spawn $1')
}

/** The message of a thrown value. */
export function errorMessage(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
