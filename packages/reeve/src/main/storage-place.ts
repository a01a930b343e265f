import { readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { LeaseClaim, LeaseHeld } from '../cluster/index.ts'
import { Fault } from '@reeve/kit/fault.ts'
import type { MovableEngine } from '../state/index.ts'
import {
  assertUnused,
  isEmptyEngine,
  openEmbeddedEngine,
  openPostgresDatabase,
  syncFolder,
  type PostgresDatabase,
} from '../storage/index.ts'
import { makeDirectory, prepareDataDirectory } from './data-directory.ts'
import { systemIds } from './system.ts'

/** The lease of a server, or of a command, that was killed is over by then. */
const LEASE_WAIT_MS = 5_000
const LEASE_LOOK_MS = 250
/** Renewed for as long as the place is open. */
const LEASE_MS = 4_000
const LEASE_RENEW_MS = 1_000

/** A storage that nobody else uses while it is open. */
export interface StoragePlace {
  /** Without a password. */
  readonly name: string
  readonly engine: MovableEngine
  /** Closes it and opens it anew: what is read then is what was stored. */
  reopen(): Promise<MovableEngine>
  /** What was written is right: servers may use it. Only of a target. */
  complete(): Promise<void>
  /**
   * Lets go of it. No server starts on an incomplete target; the next who fills it replaces what is
   * there. That holds as well when nobody could call this.
   */
  close(): Promise<void>
}

/** `postgres://…`, or the data directory of a server. */
export async function openPlace(text: string, role: 'from' | 'to'): Promise<StoragePlace> {
  if (/^postgres(ql)?:\/\//.test(text)) return await openDatabasePlace(text, role)
  return role === 'from' ? await openSourceDirectory(text) : await openTargetDirectory(text)
}

export async function openDatabasePlace(url: string, role: 'from' | 'to'): Promise<StoragePlace> {
  const database = await openPostgresDatabase(url)
  let lease: HeldLease | undefined
  try {
    if (role === 'from') await database.marks.assertFinished()
    lease = await takeLease(database, role)
    if (role === 'to') await beginTarget(database, lease)
    return await databasePlace(database, lease)
  } catch (thrown) {
    await lease?.release()
    await database.close()
    throw thrown
  }
}

/** Marked before the first row is written: whatever ends us, no server takes it for a state. */
async function beginTarget(database: PostgresDatabase, { term }: HeldLease): Promise<void> {
  const { marks, name } = database
  if (!(await marks.isUnfinished())) {
    const engine = await database.openEngine()
    const isEmpty = await isEmptyEngine(engine)
    await engine.close()
    if (!isEmpty)
      throw new Fault(
        'storage-foreign',
        `The database ${name} is not empty. Nothing was changed. Give an empty one.`,
      )
  }
  await marks.begin(term)
}

async function databasePlace(database: PostgresDatabase, lease: HeldLease): Promise<StoragePlace> {
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
    complete: () => database.marks.finish(term),
    close: async () => {
      await engine.close()
      await release()
      await database.close()
    },
  }
}

async function leadingEngine(database: PostgresDatabase, term: number): Promise<MovableEngine> {
  const engine = await database.openEngine()
  await engine.lead(term)
  return engine
}

interface HeldLease {
  readonly term: number
  readonly release: () => Promise<void>
}

async function takeLease(database: PostgresDatabase, role: 'from' | 'to'): Promise<HeldLease> {
  const claim = { holder: `moving ${systemIds.uuid()}`, address: '', ttlMs: LEASE_MS }
  const isToFill = role === 'to'
  for (let waitedMs = 0; waitedMs < LEASE_WAIT_MS; waitedMs += LEASE_LOOK_MS) {
    const held = await database.lease.acquire(claim, { isToFill })
    if (held !== undefined) return keepLease(database, held, claim)
    await wait(LEASE_LOOK_MS)
  }
  const { address } = await database.lease.find()
  const who = address === '' ? 'a command that moves or restores' : `the server at ${address}`
  throw new Fault(
    'storage-locked',
    `The database ${database.name} is in use by ${who}. Stop every server first. Nothing was changed.`,
  )
}

/** Whoever loses it is told by the storage: it writes nothing of an earlier term. */
function keepLease({ lease }: PostgresDatabase, held: LeaseHeld, claim: LeaseClaim): HeldLease {
  const renewing = setInterval(() => {
    lease.renew(held, claim).catch(() => undefined)
  }, LEASE_RENEW_MS)
  renewing.unref()
  return {
    term: held.term,
    release: async () => {
      clearInterval(renewing)
      // Where the database is away it runs out by itself.
      await lease.release(held).catch(() => undefined)
    },
  }
}

/** Where a data directory has the storage of its server. */
export function storageIn(data: string): string {
  return join(resolve(data), 'server', 'storage')
}

async function openSourceDirectory(data: string): Promise<StoragePlace> {
  const directory = storageIn(data)
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
    complete: async () => undefined,
    close: () => engine.close(),
  }
}

/**
 * Filled beside its place and put there when it is right: nothing incomplete is ever found there.
 */
export async function openTargetDirectory(data: string): Promise<StoragePlace> {
  const directory = storageIn(data)
  const names = await readdir(directory).catch(() => [])
  if (names.length > 0)
    throw new Fault(
      'storage-foreign',
      `${directory} is not empty. Nothing was changed. Move it aside, or choose another directory.`,
    )
  await prepareDataDirectory(resolve(data))
  await makeDirectory(dirname(directory))
  const moving = movingBeside(directory)
  await assertUnused(moving)
  await rm(moving, { recursive: true, force: true })
  let engine = await openEmbeddedEngine(moving)
  return {
    name: directory,
    engine,
    reopen: async () => {
      await engine.close()
      engine = await openEmbeddedEngine(moving)
      return engine
    },
    complete: async () => {
      await engine.close()
      await rm(directory, { recursive: true, force: true })
      await rename(moving, directory)
      await syncFolder(dirname(directory))
    },
    close: () => engine.close(),
  }
}

function movingBeside(directory: string): string {
  return `${directory}.moving`
}

/**
 * Refuses to begin an empty state where somebody began to bring one that never got to its place.
 * Rejects with a Fault.
 */
export async function assertNothingMoving(data: string): Promise<void> {
  const directory = storageIn(data)
  const moving = movingBeside(directory)
  if ((await isThere(directory)) || !(await isThere(moving))) return
  throw new Fault(
    'storage-corrupt',
    `${moving} holds half a state: "reeve operator snapshot restore" or "reeve operator ` +
      'migrate-storage" is still filling it, or was broken off. Wait for it, or run it again. ' +
      'To begin with an empty state, remove that directory.',
  )
}

async function isThere(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined
}
