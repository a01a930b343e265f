import { encodeBase64, hashSync } from 'bcryptjs'

export const SALT_BYTES = 16

export interface BcryptOptions {
  /** Binary logarithm of the number of rounds. */
  readonly cost: number
  readonly salt: Uint8Array
}

/**
 * Returns `$2a$10$…`. The library would silently truncate a password at 72 bytes; callers reject
 * longer ones.
 */
export function bcrypt(password: string, { cost, salt }: BcryptOptions): string {
  const costText = String(cost).padStart(2, '0')
  return hashSync(password, `$2a$${costText}$${encodeBase64(salt, SALT_BYTES)}`)
}
