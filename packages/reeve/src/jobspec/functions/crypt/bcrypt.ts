import { encodeBase64, hashSync } from 'bcryptjs'

export const SALT_BYTES = 16

export interface BcryptOptions {
  /** The rounds as a power of two. */
  readonly cost: number
  readonly salt: Uint8Array
}

/** `$2a$10$…`; the library would silently cut a password at 72 bytes, which callers refuse. */
export function bcrypt(password: string, { cost, salt }: BcryptOptions): string {
  const costText = String(cost).padStart(2, '0')
  return hashSync(password, `$2a$${costText}$${encodeBase64(salt, SALT_BYTES)}`)
}
