import { randomUUID } from 'node:crypto'

/** A caller's id is kept when it is short and harmless, so that its logs and ours can be joined. */
export function requestId(given: string | readonly string[] | undefined): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : randomUUID()
}
