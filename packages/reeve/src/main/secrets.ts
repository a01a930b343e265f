import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  hkdfSync,
  randomBytes,
} from 'node:crypto'
import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Fault } from '@reeve/kit/fault.ts'
import type { Sealer } from '../workload/index.ts'

/** Secrets that a server stores beside its storage, readable by the owner only. */
export interface ServerSecrets {
  readonly sealingKey: Buffer
  /** Decrypt values that were sealed before the cluster key was configured or rotated. */
  readonly previousKeys?: readonly Buffer[]
  readonly joinToken: string
}

export interface ConfiguredSecrets {
  readonly joinToken?: string | undefined
  readonly clusterKey?: string | undefined
  readonly previousClusterKeys?: readonly string[]
}

const KEY_BYTES = 32
const KEY_FILE = 'sealing-key'

/** The location of the secrets, and the state that they belong to. */
interface SecretsLocation {
  readonly directory: string
  readonly state: StoredState
}

interface StoredState {
  /** Name for messages: a directory or a database. */
  readonly name: string
  /** Zero for an empty state. */
  readonly lastIndex: number
}

/**
 * Reads the secrets from the directory of a server, or creates them at the first start. A
 * configured cluster key is used for sealing as with a database, so that a state can be moved
 * between the two.
 */
export async function loadServerSecrets(
  place: SecretsLocation,
  configured: ConfiguredSecrets = {},
): Promise<ServerSecrets> {
  const { joinToken } = configured
  const keys = await loadKeys(place, configured)
  if (joinToken !== undefined) return { ...keys, joinToken }
  const created = await readOrCreate(join(place.directory, 'join-token'), () =>
    Buffer.from(randomBytes(KEY_BYTES).toString('base64url')),
  )
  return { ...keys, joinToken: created.toString('utf8').trim() }
}

async function loadKeys(
  { directory, state }: SecretsLocation,
  { clusterKey, previousClusterKeys = [] }: ConfiguredSecrets,
): Promise<Required<SealingKeys>> {
  const path = join(directory, KEY_FILE)
  const previousKeys = previousClusterKeys.map(deriveSealingKey)
  if (clusterKey === undefined) {
    assertKeyPresent(path, state)
    const key = await readOrCreate(path, () => randomBytes(KEY_BYTES))
    return { sealingKey: assertKeyLength(path, key), previousKeys }
  }
  const storedKey = await readIfExists(path)
  if (storedKey !== undefined) previousKeys.push(assertKeyLength(path, storedKey))
  return { sealingKey: deriveSealingKey(clusterKey), previousKeys }
}

function deriveSealingKey(clusterKey: string): Buffer {
  return derive(Buffer.from(clusterKey), 'sealing key')
}

/**
 * Rejects an existing state whose key is missing. With a new key its secrets would be unreadable,
 * which nobody would notice until one is needed, and a database would later reject the right key.
 */
function assertKeyPresent(key: string, { name, lastIndex }: StoredState): void {
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

function assertKeyLength(path: string, key: Buffer): Buffer {
  if (key.length === KEY_BYTES) return key
  throw new Fault('server-secrets', `${path} must be ${KEY_BYTES} bytes; restore it from a backup`)
}

async function readIfExists(path: string): Promise<Buffer | undefined> {
  return await readFile(path).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return undefined
    throw thrown
  })
}

async function readOrCreate(path: string, make: () => Buffer): Promise<Buffer> {
  const known = await readIfExists(path)
  if (known !== undefined) return known
  const made = make()
  await writeSecret(path, made)
  return made
}

/**
 * Derives the secrets of a server in a cluster from one key: the configured one, or else the one of
 * its directory. The join token is written to a file for operators.
 */
export async function loadClusterSecrets(
  place: SecretsLocation,
  configured: ConfiguredSecrets,
): Promise<ClusterSecrets> {
  const { sealingKey } = await loadServerSecrets(place, {
    joinToken: configured.joinToken ?? 'derived below',
    clusterKey: configured.clusterKey,
  })
  // Without the key of the directory, which the other servers of the cluster do not have.
  const previousKeys = (configured.previousClusterKeys ?? []).map(deriveSealingKey)
  const joinToken = configured.joinToken ?? derive(sealingKey, 'join token').toString('base64url')
  if (configured.joinToken === undefined)
    await writeSecret(join(place.directory, 'join-token'), joinToken)
  return {
    sealingKey,
    previousKeys,
    joinToken,
    forwardingKey: deriveForwardingKey(sealingKey),
    previousForwardingKeys: previousKeys.map(deriveForwardingKey),
    keyFingerprint: fingerprintOf(sealingKey),
    previousFingerprints: previousKeys.map(fingerprintOf),
  }
}

function deriveForwardingKey(sealingKey: Buffer): Buffer {
  return derive(sealingKey, 'forwarding')
}

function fingerprintOf(sealingKey: Buffer): string {
  return createHmac('sha256', sealingKey).update('reeve key check').digest('base64url')
}

export interface ClusterSecrets extends ServerSecrets {
  /** Authenticates requests between servers of one cluster. */
  readonly forwardingKey: Buffer
  /** Accepted from servers that have another key until all have the new one. */
  readonly previousForwardingKeys?: readonly Buffer[]
  /** A value that shows whether two servers have the same key, without revealing it. */
  readonly keyFingerprint: string
  readonly previousFingerprints?: readonly string[]
}

function derive(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `reeve ${purpose}`, KEY_BYTES))
}

/** Writes a file that only its owner can read. It is durable when the promise resolves. */
export async function writeSecret(path: string, content: Buffer | string): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

const NONCE_BYTES = 12
const TAG_BYTES = 16

interface SealingKeys {
  readonly sealingKey: Buffer
  /** Tried in this order if the sealing key does not decrypt a value. */
  readonly previousKeys?: readonly Buffer[]
}

/**
 * Seals with AES-256-GCM. Losing the key loses the secrets, not the state: tokens still
 * authenticate by hash.
 */
export function createSealer({ sealingKey, previousKeys = [] }: SealingKeys): Sealer {
  const openBytes = (sealed: Uint8Array): Buffer => {
    try {
      return decrypt(sealingKey, sealed)
    } catch (cause) {
      for (const key of previousKeys) {
        const opened = tryDecrypt(key, sealed)
        if (opened !== undefined) return opened
      }
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
