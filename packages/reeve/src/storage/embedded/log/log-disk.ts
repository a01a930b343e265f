import { open, rm, unlink, type FileHandle } from 'node:fs/promises'
import { syncFolder } from '../durable-file.ts'

/** An open file of the log. */
export type LogHandle = Pick<FileHandle, 'writev' | 'sync' | 'datasync' | 'truncate' | 'close'>

/**
 * Every call by which the log is written. A seam for tests, which let each of them fail in turn:
 * after any failure nothing may be acknowledged.
 */
export interface LogDisk {
  open(path: string, flags: number, mode?: number): Promise<LogHandle>
  syncFolder(path: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Removes a folder with everything in it; it need not be there. */
  removeFolder(path: string): Promise<void>
}

export const systemLogDisk: LogDisk = {
  open: (path, flags, mode) => open(path, flags, mode),
  syncFolder,
  unlink,
  removeFolder: (path) => rm(path, { recursive: true, force: true }),
}
