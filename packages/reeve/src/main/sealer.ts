import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { Fault } from '@reeve/kit/fault.ts'
import type { Sealer } from '../workload/index.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16

interface SealingKeys {
  readonly sealingKey: Buffer
  /** Tried if the sealing key does not decrypt a value. */
  readonly previousKey?: Buffer | undefined
}

/**
 * Seals with AES-256-GCM. Losing the key loses the secrets, not the state: tokens still
 * authenticate by hash.
 */
export function createSealer({ sealingKey, previousKey }: SealingKeys): Sealer {
  const openBytes = (sealed: Uint8Array): Buffer => {
    try {
      return decrypt(sealingKey, sealed)
    } catch (cause) {
      const older = previousKey === undefined ? undefined : tryDecrypt(previousKey, sealed)
      if (older !== undefined) return older
      throw new Fault('sealing-key', 'a stored secret was sealed with another key', { cause })
    }
  }
  return {
    hash: (secret) => createHash('sha256').update(secret).digest('base64url'),
    seal: (secret) => encrypt(sealingKey, Buffer.from(secret, 'utf8')).toString('base64'),
    open: (sealed) => openBytes(Buffer.from(sealed, 'base64')).toString('utf8'),
    sealBytes: (bytes) => encrypt(sealingKey, bytes),
    openBytes,
  }
}

function encrypt(key: Buffer, bytes: Uint8Array): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce)
  const sealed = [cipher.update(bytes), cipher.final()]
  return Buffer.concat([nonce, cipher.getAuthTag(), ...sealed])
}

/** Throws if the bytes were sealed with another key or modified. */
function decrypt(key: Buffer, bytes: Uint8Array): Buffer {
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
  const cipher = createDecipheriv('aes-256-gcm', key, nonce).setAuthTag(tag)
  return Buffer.concat([cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), cipher.final()])
}

function tryDecrypt(key: Buffer, bytes: Uint8Array): Buffer | undefined {
  try {
    return decrypt(key, bytes)
  } catch {
    return undefined
  }
}
