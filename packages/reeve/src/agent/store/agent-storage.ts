import { constants } from 'node:fs'
import { access, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { VolumeOnNode } from '@reeve/contract'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { IdSource } from '@reeve/kit/clock.ts'
import { assert, Fault, errorMessage } from '@reeve/kit/fault.ts'
import { findRecordLockHolder } from '@reeve/kit/proc-locks.ts'
import type { StoredVolume } from '../volumes/dynamic-volumes.ts'
import { type AgentStore, DiskStore, MemoryStore } from './agent-store.ts'
import { errorCode, isMissing, readStateFile, writeStateFile } from './state-file.ts'
import { DiskWorkspace, NoopWorkspace, type Workspace } from './workspace.ts'

/** Durable state of an agent, and the directories of its tasks. */
export interface AgentStorage {
  readonly store: AgentStore
  readonly workspace: Workspace
  /** Directory in which the drivers keep their records. */
  readonly recordsDir: string
  /** Locks the storage for this agent. Fault `agent-locked` while another one has it. */
  open(ids: IdSource): Promise<StorageIdentity>
  /** Stores the region. Only while the storage is open. */
  saveRegion(region: string): Promise<void>
  /** Replaces the secret of the node; durable when it resolves. Only while it is open. */
  saveSecret(secret: string): Promise<void>
  /** Replaces the metadata that requests have set. Only while the storage is open. */
  saveMeta(meta: NonNullable<StoredIdentity['meta']>): Promise<void>
  /** Replaces the dynamic volumes. Only while the storage is open. */
  saveVolumes(volumes: NonNullable<StoredIdentity['volumes']>): Promise<void>
  /** Removes driver records of starts that are not in `keep`. */
  removeStaleRecords(keep: ReadonlySet<string>): Promise<void>
  close(): Promise<void>
}

interface StoredIdentity {
  /** Created at the first start, never changed. */
  readonly nodeId: string
  readonly secret: string
  /** Region of the servers that accepted the node. */
  readonly region?: string
  /** Metadata set by requests; null hides a configured value. */
  readonly meta?: Readonly<Record<string, string | null>>
  /** Volumes created or registered by requests. */
  readonly volumes?: readonly StoredVolume[]
}

export interface StorageIdentity extends StoredIdentity {
  /** Boot ID of the machine. */
  readonly bootId: string
  /** Why secrets are stored on disk although they should not be. */
  readonly tmpfsProblem?: string
}

interface DiskStorageOptions {
  /** Requires the right to mount; without it secrets are stored on disk. */
  readonly usesTmpfsForSecrets?: boolean
}

/** Storage in one directory: `agent/` for the agent, `alloc/` for the tasks. */
export function diskStorage(dataDir: string, options: DiskStorageOptions = {}): AgentStorage {
  const agentDir = join(dataDir, 'agent')
  const recordsDir = join(agentDir, 'tasks')
  const allocationRecordsDir = join(agentDir, 'allocations')
  const workspace = new DiskWorkspace(join(dataDir, 'alloc'))
  const identityPath = join(agentDir, 'node.json')
  let lock: AgentLock | undefined
  let storedIdentity: StoredIdentity | undefined
  let lastWrite: Promise<void> = Promise.resolve()
  /** Serializes writes: each one is based on the previous one. */
  const updateIdentity = (change: Partial<StoredIdentity>): Promise<void> => {
    const write = async (): Promise<void> => {
      assert(storedIdentity !== undefined, 'the storage is open when the identity changes')
      const changed = { ...storedIdentity, ...change }
      await saveIdentity(identityPath, changed)
      storedIdentity = changed
    }
    lastWrite = lastWrite.then(write, write)
    return lastWrite
  }
  return {
    store: new DiskStore(allocationRecordsDir),
    workspace,
    recordsDir,
    async open(ids) {
      // Traversable but not listable: tasks of other users must reach their own directories below.
      for (const path of [agentDir, recordsDir]) await mkdir(path, { recursive: true, mode: 0o711 })
      // Checked explicitly: on a read-only disk mkdir reports a misleading error.
      await access(agentDir, constants.W_OK)
      lock = await lockAgentDirectory(agentDir)
      try {
        await mkdir(allocationRecordsDir, { recursive: true, mode: 0o700 })
        const bootId = (await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim()
        storedIdentity = await loadIdentity(identityPath, {
          ids,
          allocations: allocationRecordsDir,
        })
        const identity = { ...storedIdentity, bootId }
        if (options.usesTmpfsForSecrets !== true) return identity
        const secretsComplaint = await workspace.enableTmpfsSecrets()
        return secretsComplaint === undefined
          ? identity
          : { ...identity, tmpfsProblem: secretsComplaint }
      } catch (thrown) {
        lock.release()
        lock = undefined
        throw thrown
      }
    },
    saveRegion: (region) => updateIdentity({ region }),
    saveSecret: (secret) => updateIdentity({ secret }),
    saveMeta: (meta) => updateIdentity({ meta }),
    saveVolumes: (volumes) => updateIdentity({ volumes }),
    async removeStaleRecords(keep) {
      for (const name of await directoryNames(recordsDir)) {
        const path = join(recordsDir, name)
        if (!keep.has(path)) await rm(path, { recursive: true, force: true })
      }
    },
    close() {
      lock?.release()
      lock = undefined
      return Promise.resolve()
    },
  }
}

/** In-memory storage for tests and simulated agents. */
export function memoryStorage(identity: StorageIdentity): AgentStorage {
  let current = identity
  return {
    store: new MemoryStore(),
    workspace: new NoopWorkspace(),
    recordsDir: '/nowhere/tasks',
    open: () => Promise.resolve(current),
    saveRegion: (region) => {
      current = { ...current, region }
      return Promise.resolve()
    },
    saveSecret: (secret) => {
      current = { ...current, secret }
      return Promise.resolve()
    },
    saveMeta: (meta) => {
      current = { ...current, meta }
      return Promise.resolve()
    },
    saveVolumes: (volumes) => {
      current = { ...current, volumes }
      return Promise.resolve()
    },
    removeStaleRecords: () => Promise.resolve(),
    close: () => Promise.resolve(),
  }
}

/** Format version of the identity file; agents reject newer ones. */
const IDENTITY_VERSION = 1

const identityFileChecker = Compile(
  Type.Object({
    v: Type.Literal(IDENTITY_VERSION),
    nodeId: Type.String(),
    secret: Type.String(),
    region: Type.Optional(Type.String()),
    meta: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]))),
    volumes: Type.Optional(
      Type.Array(Type.Object({ ...VolumeOnNode.properties, bytes: Type.Integer() })),
    ),
  }),
)

interface LoadIdentityOptions {
  readonly ids: IdSource
  /** Directory of allocation records; empty at the first start. */
  readonly allocations: string
}

/**
 * Loads or creates the identity. A new identity would orphan everything that the servers know of
 * this node and stop its tasks, so an invalid file is never replaced, nor a missing one if the node
 * has run before.
 */
async function loadIdentity(
  path: string,
  { ids, allocations }: LoadIdentityOptions,
): Promise<StoredIdentity> {
  const file = await readStateFile(path).catch((thrown: unknown) => {
    throw new Fault('agent-state', `${errorMessage(thrown)}. ${restoreAdvice(path, allocations)}`, {
      cause: thrown,
    })
  })
  if (file === undefined) {
    if ((await directoryNames(allocations)).length > 0)
      throw new Fault('agent-state', `${path} is missing. ${restoreAdvice(path, allocations)}`)
    const newIdentity = { nodeId: ids.uuid(), secret: ids.uuid() }
    await saveIdentity(path, newIdentity)
    return newIdentity
  }
  if (fileVersion(file) > IDENTITY_VERSION)
    throw new Fault(
      'agent-state',
      `${path} has format ${fileVersion(file)}, and this agent reads format ${IDENTITY_VERSION}. ` +
        'A newer Reeve wrote it: start that version. Nothing was changed.',
    )
  if (!identityFileChecker.Check(file))
    throw new Fault(
      'agent-state',
      `cannot use ${path}: not an identity. ${restoreAdvice(path, allocations)}`,
    )
  const { v: _, ...identity } = file
  return identity
}

function fileVersion(file: unknown): number {
  const isVersioned = typeof file === 'object' && file !== null && 'v' in file
  return isVersioned && typeof file.v === 'number' ? file.v : 0
}

function restoreAdvice(path: string, allocations: string): string {
  return (
    'Nothing was changed. Put the file back from a backup; or, to begin as a new node, remove ' +
    `${path} and ${allocations}: what runs here is ended then, and begins again where the ` +
    'servers want it once they have given up the old node.'
  )
}

async function saveIdentity(path: string, identity: StoredIdentity): Promise<void> {
  await writeStateFile(path, JSON.stringify({ v: IDENTITY_VERSION, ...identity }))
}

async function directoryNames(path: string): Promise<readonly string[]> {
  return readdir(path).catch((thrown: unknown) => {
    if (isMissing(thrown)) return []
    throw thrown
  })
}

export interface AgentLock {
  release(): void
}

/** The database stays empty: only its lock is used. */
const LOCK_FILE = 'lock.db'

/** Older agents stored the name of a socket in this file, which any task could bind instead. */
const LEGACY_LOCK_FILE = 'lock'

/** SQLite's result code when another connection has the lock. */
const SQLITE_BUSY = 5

/**
 * Locks the agent's directory: two agents on one directory would start everything twice. The lock
 * is an exclusive SQLite transaction, the only file lock that the runtime offers: a record lock of
 * the kernel that is released however the process ends, is not inherited by tasks, and requires
 * access to the file. Nothing else in this process may open the file, because closing any
 * descriptor of it releases the lock.
 */
async function lockAgentDirectory(dir: string): Promise<AgentLock> {
  const file = join(dir, LOCK_FILE)
  await createLockFile(file)
  const database = openDatabase(file)
  try {
    // Without a journal file nothing is written: an agent must start on a full disk.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (thrown) {
    database.close()
    throw isLockedElsewhere(thrown)
      ? await agentLockedFault(dir, file, thrown)
      : lockFault(file, thrown)
  }
  await rm(join(dir, LEGACY_LOCK_FILE), { force: true })
  return { release: () => database.close() }
}

/** Creates the lock file: SQLite would make it world-readable. An existing file is not opened. */
async function createLockFile(file: string): Promise<void> {
  const exists = await stat(file).then(
    () => true,
    (thrown: unknown) => {
      if (isMissing(thrown)) return false
      throw thrown
    },
  )
  if (exists) return
  await writeFile(file, '', { flag: 'wx', mode: 0o600 }).catch((thrown: unknown) => {
    // Another agent created the file at the same moment.
    if (errorCode(thrown) !== 'EEXIST') throw thrown
  })
}

function openDatabase(file: string): DatabaseSync {
  try {
    return new DatabaseSync(file, { timeout: 0 })
  } catch (thrown) {
    throw lockFault(file, thrown)
  }
}

function isLockedElsewhere(thrown: unknown): boolean {
  return thrown instanceof Error && Reflect.get(thrown, 'errcode') === SQLITE_BUSY
}

async function agentLockedFault(dir: string, file: string, cause: unknown): Promise<Fault> {
  const lockTable = await readFile('/proc/locks', 'utf8').catch(() => '') // no Linux: no table
  const holder = findRecordLockHolder(lockTable, await stat(file, { bigint: true }))
  const pid = holder === undefined ? '' : ` (pid ${holder})`
  const message = `Another agent is using ${dir}${pid}. Stop it, or choose another --data-dir.`
  return new Fault('agent-locked', message, { cause })
}

function lockFault(file: string, cause: unknown): Fault {
  return new Fault('agent-state', `cannot lock ${file}: ${errorMessage(cause)}`, { cause })
}
