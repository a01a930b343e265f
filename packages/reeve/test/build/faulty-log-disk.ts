import { SYSTEM_LOG_DISK, type LogDisk, type LogHandle } from '../../src/storage/durable-file.ts'

interface FaultyDisk extends LogDisk {
  /** Calls that wrote, synced or removed something so far. */
  readonly calls: () => number
  /** From now on every call succeeds. */
  heal(): void
}

export type FaultPoint =
  /** The call does nothing. */
  | 'before'
  /** The call does everything, and still reports a failure, as a failing sync may. */
  | 'after'
  /** Of a write, half the bytes arrive. */
  | 'half'

/** A disk whose n-th writing call fails, and every call after it too. */
export function faultyLogDisk(failAt: number, point: FaultPoint, code = 'EIO'): FaultyDisk {
  let calls = 0
  let isHealed = false
  const attempt = async <T>(run: () => Promise<T>, half: () => Promise<unknown>): Promise<T> => {
    const number = calls++
    if (number < failAt || isHealed) return await run()
    if (number === failAt && point === 'after') await run()
    if (number === failAt && point === 'half') await half()
    throw Object.assign(new Error(`${code}: write`), { code, syscall: 'write' })
  }
  const nothing = async (): Promise<void> => undefined
  const wrapped = (handle: LogHandle): LogHandle => ({
    writev: <B extends readonly NodeJS.ArrayBufferView[]>(buffers: B, position?: number) =>
      attempt(
        () => handle.writev(buffers, position),
        async () => {
          const [first] = buffers
          if (first === undefined) return
          const bytes = Buffer.from(first.buffer, first.byteOffset, first.byteLength)
          await handle.writev([bytes.subarray(0, bytes.length / 2)], position)
        },
      ),
    sync: () => attempt(() => handle.sync(), nothing),
    datasync: () => attempt(() => handle.datasync(), nothing),
    truncate: (length) => attempt(() => handle.truncate(length), nothing),
    close: () => handle.close(),
  })
  return {
    calls: () => calls,
    heal: () => {
      isHealed = true
    },
    open: async (path, flags, mode) => wrapped(await SYSTEM_LOG_DISK.open(path, flags, mode)),
    fsyncDirectory: (path) => attempt(() => SYSTEM_LOG_DISK.fsyncDirectory(path), nothing),
    unlink: (path) => attempt(() => SYSTEM_LOG_DISK.unlink(path), nothing),
    removeDirectory: (path) => SYSTEM_LOG_DISK.removeDirectory(path),
  }
}
