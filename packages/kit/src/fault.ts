/**
 * The world failed (disk, network, process). Thrown; the loop that owns the effect retries or
 * reports it.
 */
export class Fault extends Error {
  override readonly name: string = 'Fault'
  /**
   * What failed, as a stable word: lets the owner of the effect choose without matching on text.
   */
  readonly kind: string

  constructor(kind: string, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
  }
}

/** The kind of a fault that passes: too much is asked for at once, and nothing was done. */
export const OVERLOADED = 'overloaded'

/** The kind of a fault that lasts until somebody acts: memory is short. */
export const NO_CAPACITY = 'no-capacity'

/** An invariant is broken: we are wrong. On in production. */
export function assert(condition: unknown, why: string): asserts condition {
  if (!condition) throw new Error(`invariant broken: ${why}`)
}

/**
 * The message of a system error without its system call and the paths of the host, for texts that
 * leave the machine: callers of the API need the reason, and must not learn where files are.
 */
export function withoutPaths(text: string): string {
  return text
    .replaceAll(/(\bE[A-Z0-9]+: [^,\n]+), \w+ '.*'/g, '$1')
    .replaceAll(/\bspawn \/\S+ (E[A-Z0-9]+)/g, 'spawn $1')
}

/** The text of anything that was thrown. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
