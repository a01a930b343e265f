import { Fault } from '@reeve/kit/fault.ts'
import type { StorageEngine } from '../state/index.ts'
import { openEmbeddedEngine, openReadOnlyEngine } from '../storage/index.ts'
import type { ProgramLog } from './log.ts'

/** The storage of a server, and what may be written to it. */
export interface ServerStorage {
  readonly engine: StorageEngine
  /** Why not everything may be written; undefined while all is well. */
  readonly shortage?: Shortage | undefined
}

export interface Shortage {
  readonly fault: Fault
  readonly accepts: 'deletes' | 'nothing'
}

/**
 * Opens the storage in a directory. On a full or read-only disk the server shall at least read: on
 * a full one it gets the space of the reserve, and where that is not enough, or the disk takes no
 * writes at all, it reads the files without opening them to be written.
 */
export async function openServerStorage(
  directory: string,
  options: ServerStorageOptions,
): Promise<ServerStorage> {
  try {
    return { engine: await openEmbeddedEngine(directory, options) }
  } catch (thrown) {
    if (!isDiskFault(thrown)) throw thrown
    return await openShort(directory, thrown, options)
  }
}

interface ServerStorageOptions {
  readonly log: ProgramLog
  readonly version: string
  readonly reserveBytes: number
}

async function openShort(
  directory: string,
  fault: Fault,
  options: ServerStorageOptions,
): Promise<ServerStorage> {
  if (fault.kind === 'storage-full')
    try {
      const engine = await openEmbeddedEngine(directory, { ...options, usesReserve: true })
      return { engine, shortage: { fault, accepts: 'deletes' } }
    } catch (thrown) {
      if (!isDiskFault(thrown)) throw thrown
    }
  const engine = await openReadOnlyEngine(directory, fault)
  return { engine, shortage: { fault, accepts: 'nothing' } }
}

/** A disk that takes no more writes, while everything on it can be read. */
export function isDiskFault(thrown: unknown): thrown is Fault {
  return thrown instanceof Fault && DISK_FAULTS.includes(thrown.kind)
}

const DISK_FAULTS: readonly string[] = ['storage-full', 'storage-read-only']
