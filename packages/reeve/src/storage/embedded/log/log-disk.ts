import { open, rm, unlink, type FileHandle } from 'node:fs/promises'
import { fsyncDirectory } from '../durable-file.ts'

/** An open file of the log. */
export type LogHandle = Pick<FileHandle, 'writev' | 'sync' | 'datasync' | 'truncate' | 'close'>

/**
 * All write calls of the log. Tests replace it to let each call fail in turn: nothing may be
 * acknowledged after a failure.
 */
export interface LogDisk {
  open(path: string, flags: number, mode?: number): Promise<LogHandle>
  fsyncDirectory(path: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Removes a directory recursively; does nothing if it does not exist. */
  removeDirectory(path: string): Promise<void>
}

export const SYSTEM_LOG_DISK: LogDisk = {
  open: (path, flags, mode) => open(path, flags, mode),
  fsyncDirectory,
  unlink,
  removeDirectory: (path) => rm(path, { recursive: true, force: true }),
}
