import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../kit/fault.ts'
import type { Sealer } from '../workload/index.ts'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals with AES-256-GCM. Losing the key loses the secrets, not the state: tokens still authenticate by hash. */
export function createSealer(key: Buffer): Sealer {
  return {
    hash: (secret) => createHash('sha256').update(secret).digest('base64url'),
    seal(secret) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', key, nonce)
      const text = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final()])
      return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64')
    },
    open(sealed) {
      const bytes = Buffer.from(sealed, 'base64')
      const nonce = bytes.subarray(0, NONCE_BYTES)
      const tag = bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)
      try {
        const cipher = createDecipheriv('aes-256-gcm', key, nonce).setAuthTag(tag)
        const text = cipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES))
        return Buffer.concat([text, cipher.final()]).toString('utf8')
      } catch (cause) {
        throw new Fault('sealing-key', 'a stored secret was sealed with another key', { cause })
      }
    },
  }
}

/** The key of a data directory, made at its first use and readable by its owner only. */
export async function loadSealingKey(directory: string): Promise<Buffer> {
  const path = join(directory, 'sealing-key')
  const known = await readFile(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  if (known !== undefined) return checked(known, path)
  const key = randomBytes(KEY_BYTES)
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(key)
    await file.sync()
  } finally {
    await file.close()
  }
  return key
}

function checked(key: Buffer, path: string): Buffer {
  if (key.length === KEY_BYTES) return key
  throw new Fault(
    'sealing-key',
    `${path} is ${key.length} bytes long, not ${KEY_BYTES}; restore it from a backup`,
  )
}
