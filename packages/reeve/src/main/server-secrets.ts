import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '../kit/fault.ts'

/** What a server keeps beside its storage, readable by its owner only. */
export interface ServerSecrets {
  readonly sealingKey: Buffer
  readonly joinToken: string
}

const KEY_BYTES = 32

/**
 * Refuses a directory in which a server has run and whose key is gone: with a new one nobody could
 * read the secrets of its state any more, and nothing would say so until somebody wants one. A
 * state that was restored or moved here, and has not been run yet, may do without a key.
 */
export function assertKeyKept(directory: string): void {
  const key = join(directory, 'sealing-key')
  const storage = join(directory, 'storage')
  const hasRun = existsSync(storage) && existsSync(join(directory, 'join-token'))
  if (existsSync(key) || !hasRun) return
  throw new Fault(
    'server-secrets',
    `${key} is missing: the secrets in ${storage} (variables, the SecretIDs of tokens) were ` +
      'sealed with it. Nothing was changed. Restore it from a backup; or, to go on without those ' +
      `secrets, make a new one: (umask 077; head -c ${KEY_BYTES} /dev/urandom > ${key})`,
  )
}

/** Reads the secrets of a server's directory, making them at its first start. */
export async function loadServerSecrets(
  directory: string,
  configuredJoinToken: string | undefined,
): Promise<ServerSecrets> {
  const sealingKey = await readOrMake(join(directory, 'sealing-key'), () => randomBytes(KEY_BYTES))
  if (sealingKey.length !== KEY_BYTES)
    throw new Fault(
      'server-secrets',
      `${join(directory, 'sealing-key')} must be ${KEY_BYTES} bytes; restore it from a backup`,
    )
  if (configuredJoinToken !== undefined) return { sealingKey, joinToken: configuredJoinToken }
  const made = await readOrMake(join(directory, 'join-token'), () =>
    Buffer.from(randomBytes(KEY_BYTES).toString('base64url')),
  )
  return { sealingKey, joinToken: made.toString('utf8').trim() }
}

async function readOrMake(path: string, make: () => Buffer): Promise<Buffer> {
  const known = await readFile(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
  if (known !== undefined) return known
  const made = make()
  await writeSecret(path, made)
  return made
}

/**
 * The secrets of a server that shares its state with others: all of them come from one key,
 * which is the configured one, or else that of its directory. The join token is written beside it,
 * where operators look for it.
 */
export async function loadClusterSecrets(
  directory: string,
  configured: { readonly joinToken?: string | undefined; readonly clusterKey?: string | undefined },
): Promise<ClusterSecrets> {
  const { clusterKey } = configured
  const own = await loadServerSecrets(directory, configured.joinToken ?? 'derived below')
  const sealingKey =
    clusterKey === undefined ? own.sealingKey : derive(Buffer.from(clusterKey), 'sealing key')
  const joinToken = configured.joinToken ?? derive(sealingKey, 'join token').toString('base64url')
  if (configured.joinToken === undefined)
    await writeSecret(join(directory, 'join-token'), joinToken)
  return {
    sealingKey,
    joinToken,
    forwardingKey: derive(sealingKey, 'forwarding'),
    keyCheck: createHmac('sha256', sealingKey).update('reeve key check').digest('base64url'),
  }
}

export interface ClusterSecrets extends ServerSecrets {
  /** What servers of one cluster know each other's requests by. */
  readonly forwardingKey: Buffer
  /** Tells whether two servers have the same key, without telling it. */
  readonly keyCheck: string
}

function derive(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `reeve ${purpose}`, KEY_BYTES))
}

/** Writes a file that only its owner can read, durable when it resolves. */
export async function writeSecret(path: string, content: Buffer | string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}
