import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { Fault } from '@reeve/kit/fault.ts'
import type { Sealer } from '../workload/index.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16

interface SealingKeys {
  readonly sealingKey: Buffer
  /** Tried on what the sealing key does not open. */
  readonly olderKey?: Buffer | undefined
}

/**
 * Seals with AES-256-GCM. Losing the key loses the secrets, not the state: tokens still
 * authenticate by hash.
 */
export function createSealer({ sealingKey, olderKey }: SealingKeys): Sealer {
  return {
    hash: (secret) => createHash('sha256').update(secret).digest('base64url'),
    seal(secret) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', sealingKey, nonce)
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64')
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64')
      try {
        return openWith(sealingKey, bytes)
      } catch (cause) {
        const older = olderKey === undefined ? undefined : tryOpenWith(olderKey, bytes)
        if (older !== undefined) return older
        throw new Fault('sealing-key', 'a stored secret was sealed with another key', { cause })
      }
    },
  }
}

/** Throws when the bytes were sealed with another key, or changed. */
function openWith(key: Buffer, bytes: Buffer): string {
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  const cipher = createDecipheriv('aes-256-gcm', key, nonce).setAuthTag(tag)
  const text = cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
  return Buffer.concat([text, cipher.final()]).toString('utf8')
}

function tryOpenWith(key: Buffer, bytes: Buffer): string | undefined {
  try {
    return openWith(key, bytes)
  } catch {
    return undefined
  }
}
