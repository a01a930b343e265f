import { readdir, rename, rm, stat } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Fault } from '../kit/fault.ts'
import type { MovableEngine } from '../state/index.ts'
import {
  openEmbeddedEngine,
  openPostgresDatabase,
  type PostgresDatabase,
} from '../storage/index.ts'
import { makeDirectory } from './data-directory.ts'
import { systemIds } from './system.ts'

/** The lease of a server that was killed is over by then. */
const LEASE_WAIT_MS = 5_000
const LEASE_LOOK_MS = 250
/** No server starts on what is being moved. */
const LEASE_MS = 24 * 3_600_000

/** A storage that nobody else uses while it is open. */
export interface StoragePlace {
  /** Without a password. */
  readonly name: string
  readonly engine: MovableEngine
  /** Closes it and opens it anew: what is read then is what was stored. */
  reopen(): Promise<MovableEngine>
  /** What was written is right: servers may use it. Only of a target. */
  complete(): Promise<void>
  /** Lets go of it. An incomplete target stays as it is, and no server starts on it. */
  close(): Promise<void>
}

/** `postgres://…`, or the data directory of a server. */
export async function openPlace(text: string, role: 'from' | 'to'): Promise<StoragePlace> {
  if (/^postgres(ql)?:\/\//.test(text)) return await openDatabasePlace(text, role)
  return role === 'from' ? await openSourceDirectory(text) : await openTargetDirectory(text)
}

async function openDatabasePlace(url: string, role: 'from' | 'to'): Promise<StoragePlace> {
  const database = await openPostgresDatabase(url)
  try {
    const held = await takeLease(database)
    let engine = await leadingEngine(database, held.term)
    const release = (): Promise<void> => database.lease.release(held)
    return {
      name: database.name,
      engine,
      reopen: async () => {
        await engine.close()
        engine = await leadingEngine(database, held.term)
        return engine
      },
      complete: release,
      close: async () => {
        await engine.close()
        if (role === 'from') await release()
        await database.close()
      },
    }
  } catch (thrown) {
    await database.close()
    throw thrown
  }
}

async function leadingEngine(database: PostgresDatabase, term: number) {
  const engine = await database.openEngine()
  await engine.lead(term)
  return engine
}

async function takeLease(database: PostgresDatabase): Promise<{ readonly term: number }> {
  const claim = { holder: `moving ${systemIds.uuid()}`, address: '', ttlMs: LEASE_MS }
  for (let waitedMs = 0; waitedMs < LEASE_WAIT_MS; waitedMs += LEASE_LOOK_MS) {
    const held = await database.lease.acquire(claim)
    if (held !== undefined) return held
    await wait(LEASE_LOOK_MS)
  }
  const { holder, address } = await database.lease.find()
  const who = address === '' ? `"${holder}"` : `the server at ${address}`
  throw new Fault(
    'storage-locked',
    `The database ${database.name} is in use by ${who}. Stop every server first. Nothing was changed.`,
  )
}

function storageIn(data: string): string {
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
async function openTargetDirectory(data: string): Promise<StoragePlace> {
  const directory = storageIn(data)
  const names = await readdir(directory).catch(() => [])
  if (names.length > 0)
    throw new Fault(
      'storage-foreign',
      `${directory} is not empty. Nothing was changed. Move it aside, or choose another directory.`,
    )
  await makeDirectory(join(resolve(data), 'server'))
  const moving = `${directory}.moving`
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
    },
    close: () => engine.close(),
  }
}
