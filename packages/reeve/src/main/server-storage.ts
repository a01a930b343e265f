import { Fault } from '@reeve/kit/fault.ts'
import type { StorageEngine } from '../state/index.ts'
import { openEmbeddedEngine, openReadOnlyEngine } from '../storage/index.ts'
import type { Logger } from './log.ts'

/** The storage of a server, with the reason if writes are restricted. */
interface ServerStorage {
  readonly engine: StorageEngine
  /** Why writes are restricted; undefined if they are not. */
  readonly shortage?: StorageRestriction | undefined
}

export interface StorageRestriction {
  readonly fault: Fault
  readonly acceptedWrites: 'deletes' | 'nothing'
}

/**
 * Opens the storage in a directory. On a full disk it frees the reserve; if that is not enough or
 * the disk is read-only, it opens the files for reading only, so that the server can still answer
 * reads.
 */
export async function openServerStorage(
  directory: string,
  options: ServerStorageOptions,
): Promise<ServerStorage> {
  try {
    return { engine: await openEmbeddedEngine(directory, options) }
  } catch (thrown) {
    if (!isDiskFault(thrown)) throw thrown
    return await openRestricted(directory, thrown, options)
  }
}

interface ServerStorageOptions {
  readonly storageLog: Logger
  readonly version: string
  readonly reserveBytes: number
}

async function openRestricted(
  directory: string,
  fault: Fault,
  options: ServerStorageOptions,
): Promise<ServerStorage> {
  if (fault.kind === 'storage-full')
    try {
      const engine = await openEmbeddedEngine(directory, { ...options, usesReserve: true })
      return { engine, shortage: { fault, acceptedWrites: 'deletes' } }
    } catch (thrown) {
      if (!isDiskFault(thrown)) throw thrown
    }
  const engine = await openReadOnlyEngine(directory, fault)
  return { engine, shortage: { fault, acceptedWrites: 'nothing' } }
}

/** Whether a disk rejects writes while everything on it is readable. */
export function isDiskFault(thrown: unknown): thrown is Fault {
  return thrown instanceof Fault && DISK_FAULTS.includes(thrown.kind)
}

const DISK_FAULTS: readonly string[] = ['storage-full', 'storage-read-only']
