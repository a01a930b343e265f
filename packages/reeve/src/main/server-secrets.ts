import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'

/** What a server keeps beside its storage, readable by its owner only. */
export interface ServerSecrets {
  readonly sealingKey: Buffer
  /** Opens what was sealed before a cluster key was configured. */
  readonly olderKey?: Buffer | undefined
  readonly joinToken: string
}

export interface ConfiguredSecrets {
  readonly joinToken?: string | undefined
  readonly clusterKey?: string | undefined
}

const KEY_BYTES = 32
const KEY_FILE = 'sealing-key'

/** Where the secrets lie, and the state that they belong to. */
interface SecretsPlace {
  readonly directory: string
  readonly state: KeptState
}

interface KeptState {
  /** As operators know it: a directory or a database. */
  readonly name: string
  /** Zero of a state that nobody has written. */
  readonly lastIndex: number
}

/**
 * Reads the secrets of a server's directory, making them at its first start. A configured cluster
 * key seals here as it does in a database, so that a state can move between the two.
 */
export async function loadServerSecrets(
  place: SecretsPlace,
  { joinToken, clusterKey }: ConfiguredSecrets = {},
): Promise<ServerSecrets> {
  const keys = await loadKeys(place, clusterKey)
  if (joinToken !== undefined) return { ...keys, joinToken }
  const made = await readOrMake(join(place.directory, 'join-token'), () =>
    Buffer.from(randomBytes(KEY_BYTES).toString('base64url')),
  )
  return { ...keys, joinToken: made.toString('utf8').trim() }
}

async function loadKeys(
  { directory, state }: SecretsPlace,
  clusterKey: string | undefined,
): Promise<Pick<ServerSecrets, 'sealingKey' | 'olderKey'>> {
  const path = join(directory, KEY_FILE)
  if (clusterKey === undefined) {
    assertKeyKept(path, state)
    return { sealingKey: checked(path, await readOrMake(path, () => randomBytes(KEY_BYTES))) }
  }
  const own = await readKnown(path)
  const sealingKey = derive(Buffer.from(clusterKey), 'sealing key')
  return own === undefined ? { sealingKey } : { sealingKey, olderKey: checked(path, own) }
}

/**
 * Refuses a state that was written, by a server here or by a restore or a move, when its key is not
 * here: with a new one nobody could read its secrets, nothing would say so until somebody wants
 * one, and a database would not take the right key any more.
 */
function assertKeyKept(key: string, { name, lastIndex }: KeptState): void {
  if (existsSync(key) || lastIndex === 0) return
  throw new Fault(
    'server-secrets',
    `${key} is missing: the secrets in ${name} (variables, the SecretIDs of tokens) were ` +
      'sealed with it, or with a server.cluster_key. Nothing was changed. Restore it from a ' +
      'backup, copy it from the server that wrote the state, or configure that cluster_key; or, ' +
      'to go on without those secrets, make a new one: ' +
      `(umask 077; head -c ${KEY_BYTES} /dev/urandom > ${key})`,
  )
}

function checked(path: string, key: Buffer): Buffer {
  if (key.length === KEY_BYTES) return key
  throw new Fault('server-secrets', `${path} must be ${KEY_BYTES} bytes; restore it from a backup`)
}

async function readKnown(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
}

async function readOrMake(path: string, make: () => Buffer): Promise<Buffer> {
  const known = await readKnown(path)
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
  place: SecretsPlace,
  configured: ConfiguredSecrets,
): Promise<ClusterSecrets> {
  // No older key: what one server could open with it, the others could not.
  const { sealingKey } = await loadServerSecrets(place, {
    joinToken: configured.joinToken ?? 'derived below',
    clusterKey: configured.clusterKey,
  })
  const joinToken = configured.joinToken ?? derive(sealingKey, 'join token').toString('base64url')
  if (configured.joinToken === undefined)
    await writeSecret(join(place.directory, 'join-token'), joinToken)
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
