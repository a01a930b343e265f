import { readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { LeaseClaim, LeaseHeld } from '../cluster/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { MigratableEngine } from '../state/index.ts'
import {
  assertUnused,
  isEmptyEngine,
  openEmbeddedEngine,
  openPostgresDatabase,
  fsyncDirectory,
  type PostgresDatabase,
} from '../storage/index.ts'
import { createDirectory, prepareDataDirectory } from './data-directory.ts'
import { systemIds } from './system.ts'

/** Long enough for the lease of a killed server or command to expire. */
const LEASE_WAIT_MS = 5_000
const LEASE_POLL_MS = 250
/** Renewed while the storage is open. */
const LEASE_MS = 4_000
const LEASE_RENEW_MS = 1_000

/** A storage that is opened exclusively. */
export interface OfflineStorage {
  /** Without a password. */
  readonly name: string
  readonly engine: MigratableEngine
  /** Closes and reopens the storage, so that later reads return what was stored. */
  reopen(): Promise<MigratableEngine>
  /** Marks a target as complete, so that servers may use it. */
  markComplete(): Promise<void>
  /**
   * Closes the storage. A server never starts on an incomplete target, even after a crash; the next
   * command that fills it replaces its content.
   */
  close(): Promise<void>
}

/** `postgres://…`, or the data directory of a server. */
export async function openOfflineStorage(
  text: string,
  role: 'from' | 'to',
): Promise<OfflineStorage> {
  if (/^postgres(ql)?:\/\//.test(text)) return await openOfflineDatabase(text, role)
  return role === 'from' ? await openExportDirectory(text) : await openImportDirectory(text)
}

export async function openOfflineDatabase(
  url: string,
  role: 'from' | 'to',
): Promise<OfflineStorage> {
  const database = await openPostgresDatabase(url)
  let lease: HeldLease | undefined
  try {
    if (role === 'from') await database.metadata.assertNoUnfinishedImport()
    lease = await acquireLease(database, role)
    if (role === 'to') await beginImport(database, lease)
    return await createOfflineDatabase(database, lease)
  } catch (thrown) {
    await lease?.release()
    await database.close()
    throw thrown
  }
}

/**
 * Marks the target as incomplete before the first write, so that no server uses it after a crash.
 */
async function beginImport(database: PostgresDatabase, { term }: HeldLease): Promise<void> {
  const { metadata, name } = database
  if (!(await metadata.hasUnfinishedImport())) {
    const engine = await database.openEngine()
    const isEmpty = await isEmptyEngine(engine)
    await engine.close()
    if (!isEmpty)
      throw new Fault(
        'storage-foreign',
        `The database ${name} is not empty. Nothing was changed. Give an empty one.`,
      )
  }
  await metadata.beginImport(term)
}

async function createOfflineDatabase(
  database: PostgresDatabase,
  lease: HeldLease,
): Promise<OfflineStorage> {
  const { term, release } = lease
  let engine = await leadingEngine(database, term)
  return {
    name: database.name,
    engine,
    reopen: async () => {
      await engine.close()
      engine = await leadingEngine(database, term)
      return engine
    },
    markComplete: () => database.metadata.finishImport(term),
    close: async () => {
      await engine.close()
      await release()
      await database.close()
    },
  }
}

async function leadingEngine(database: PostgresDatabase, term: number): Promise<MigratableEngine> {
  const engine = await database.openEngine()
  await engine.beginTerm(term)
  return engine
}

interface HeldLease {
  readonly term: number
  readonly release: () => Promise<void>
}

async function acquireLease(database: PostgresDatabase, role: 'from' | 'to'): Promise<HeldLease> {
  const claim = { holder: `moving ${systemIds.uuid()}`, address: '', ttlMs: LEASE_MS }
  const isToFill = role === 'to'
  for (let waitedMs = 0; waitedMs < LEASE_WAIT_MS; waitedMs += LEASE_POLL_MS) {
    const held = await database.lease.acquire(claim, { forImport: isToFill })
    if (held !== undefined) return renewLease(database, held, claim)
    await wait(LEASE_POLL_MS)
  }
  const { address } = await database.lease.read()
  const who = address === '' ? 'a command that moves or restores' : `the server at ${address}`
  throw new Fault(
    'storage-locked',
    `The database ${database.name} is in use by ${who}. Stop every server first. Nothing was changed.`,
  )
}

/** Renews the lease. If it is lost, the storage rejects writes of an earlier term. */
function renewLease({ lease }: PostgresDatabase, held: LeaseHeld, claim: LeaseClaim): HeldLease {
  const renewing = setInterval(() => {
    lease.renew(held, claim).catch(() => undefined)
  }, LEASE_RENEW_MS)
  renewing.unref()
  return {
    term: held.term,
    release: async () => {
      clearInterval(renewing)
      // If the database is unreachable, the lease expires.
      await lease.release(held).catch(() => undefined)
    },
  }
}

/** Returns the path of the storage in a data directory. */
export function storageDirectory(data: string): string {
  return join(resolve(data), 'server', 'storage')
}

async function openExportDirectory(data: string): Promise<OfflineStorage> {
  const directory = storageDirectory(data)
  const found = await stat(directory).catch(() => undefined)
  if (found?.isDirectory() !== true)
    throw new Fault(
      'storage-foreign',
      `${resolve(data)} is no data directory of a server: ${directory} is not there.`,
    )
  let engine = await openEmbeddedEngine(directory)
  return {
    name: directory,
    engine,
    reopen: async () => {
      await engine.close()
      engine = await openEmbeddedEngine(directory)
      return engine
    },
    markComplete: async () => undefined,
    close: () => engine.close(),
  }
}

/**
 * Opens a temporary directory that is renamed to its final name when complete, so that an
 * incomplete storage is never found there.
 */
export async function openImportDirectory(data: string): Promise<OfflineStorage> {
  const directory = storageDirectory(data)
  const names = await readdir(directory).catch(() => [])
  if (names.length > 0)
    throw new Fault(
      'storage-foreign',
      `${directory} is not empty. Nothing was changed. Move it aside, or choose another directory.`,
    )
  await prepareDataDirectory(resolve(data))
  await createDirectory(dirname(directory))
  const staging = stagingDirectory(directory)
  await assertUnused(staging)
  await rm(staging, { recursive: true, force: true })
  let engine = await openEmbeddedEngine(staging)
  return {
    name: directory,
    engine,
    reopen: async () => {
      await engine.close()
      engine = await openEmbeddedEngine(staging)
      return engine
    },
    markComplete: async () => {
      await engine.close()
      await rm(directory, { recursive: true, force: true })
      await rename(staging, directory)
      await fsyncDirectory(dirname(directory))
    },
    close: () => engine.close(),
  }
}

function stagingDirectory(directory: string): string {
  return `${directory}.moving`
}

/**
 * Rejects with a Fault if a move or restore into the directory was interrupted; a server must not
 * start empty there.
 */
export async function assertNoPartialImport(data: string): Promise<void> {
  const directory = storageDirectory(data)
  const staging = stagingDirectory(directory)
  if ((await exists(directory)) || !(await exists(staging))) return
  throw new Fault(
    'storage-corrupt',
    `${staging} holds half a state: "reeve operator snapshot restore" or "reeve operator ` +
      'migrate-storage" is still filling it, or was broken off. Wait for it, or run it again. ' +
      'To begin with an empty state, remove that directory.',
  )
}

async function exists(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined
}
