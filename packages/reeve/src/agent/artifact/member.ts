import { Fault } from '../../kit/fault.ts'

/** One entry of an archive. The body must be read, or left, before the next one is asked for. */
export interface Member {
  /** As the archive says it; not to be trusted. */
  readonly path: string
  readonly kind: 'file' | 'directory' | 'symlink' | 'hardlink'
  readonly mode: number
  /** Whose it was where it was packed; only tar tells. */
  readonly owner?: { readonly uid: number; readonly gid: number } | undefined
  /** Of a link; not to be trusted either. */
  readonly target: string
  readonly body: AsyncIterable<Uint8Array>
}

export const NO_BODY: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({
    next: () => Promise.resolve({ done: true as const, value: undefined }),
  }),
}

export function badArchive(message: string): Fault {
  return new Fault('task-artifact', message)
}
