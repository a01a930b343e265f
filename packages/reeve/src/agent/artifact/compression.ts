import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { errorMessage } from '@reeve/kit/fault.ts'
import { archiveFault } from './unpack.ts'

export type Compression = 'none' | 'gz' | 'bz2' | 'xz' | 'zst'

/** How a download is packed; undefined: it is a plain file. */
export interface ArchiveFormat {
  readonly archive: 'tar' | 'zip' | undefined
  readonly compression: Compression
  /** What names such a download: `.tar.gz`. */
  readonly ending: string
}

/** Longer endings first. */
const ARCHIVE_FORMATS: readonly ArchiveFormat[] = [
  { ending: '.tar.gz', archive: 'tar', compression: 'gz' },
  { ending: '.tgz', archive: 'tar', compression: 'gz' },
  { ending: '.tar.bz2', archive: 'tar', compression: 'bz2' },
  { ending: '.tbz2', archive: 'tar', compression: 'bz2' },
  { ending: '.tar.xz', archive: 'tar', compression: 'xz' },
  { ending: '.txz', archive: 'tar', compression: 'xz' },
  { ending: '.tar.zst', archive: 'tar', compression: 'zst' },
  { ending: '.tzst', archive: 'tar', compression: 'zst' },
  { ending: '.tar', archive: 'tar', compression: 'none' },
  { ending: '.zip', archive: 'zip', compression: 'none' },
  { ending: '.gz', archive: undefined, compression: 'gz' },
  { ending: '.bz2', archive: undefined, compression: 'bz2' },
  { ending: '.xz', archive: undefined, compression: 'xz' },
  { ending: '.zst', archive: undefined, compression: 'zst' },
]

/**
 * By the option `archive` when it is given (`false`, `0` and the like: keep it packed), else by the
 * end of the name.
 */
export function archiveFormatOf(
  name: string,
  option: string | undefined,
): ArchiveFormat | undefined {
  if (option === undefined || option === '' || /^(true|1)$/i.test(option)) {
    return ARCHIVE_FORMATS.find(({ ending }) => name.toLowerCase().endsWith(ending))
  }
  if (/^(false|0|f)$/i.test(option)) return undefined
  const found = ARCHIVE_FORMATS.find(({ ending }) => ending === `.${option.toLowerCase()}`)
  if (found !== undefined) return found
  throw archiveFault(`${JSON.stringify(option)} is not a kind of archive that is known here`)
}

/** The unpacked bytes. Leaving early ends the work. */
export async function* decompress(
  packed: Readable,
  compression: Compression,
): AsyncGenerator<Uint8Array> {
  switch (compression) {
    case 'none':
      yield* packed
      return
    case 'gz':
      yield* through(packed, createGunzip())
      return
    case 'zst':
      yield* through(packed, createZstdDecompress())
      return
    case 'bz2':
      yield* byProgram(packed, 'bzip2')
      return
    case 'xz':
      yield* byProgram(packed, 'xz')
      return
  }
}

async function* through(
  packed: Readable,
  inflate: NodeJS.ReadWriteStream & { destroy(error?: Error): void },
): AsyncGenerator<Uint8Array> {
  packed.on('error', (error) => inflate.destroy(error))
  try {
    for await (const piece of packed.pipe(inflate)) {
      // Without an encoding every piece is bytes.
      if (typeof piece !== 'string') yield piece
    }
  } catch (thrown) {
    throw archiveFault(`the download cannot be unpacked: ${errorMessage(thrown)}`)
  } finally {
    packed.destroy()
    inflate.destroy()
  }
}

/** What the runtime cannot unpack itself, a program of the machine does where there is one. */
async function* byProgram(packed: Readable, program: string): AsyncGenerator<Uint8Array> {
  const child = spawn(program, ['-dc'], { stdio: ['pipe', 'pipe', 'ignore'], env: MINIMAL_ENV })
  const closed = once(child, 'close').then(
    ([code]) => (code === 0 ? undefined : `${program} ended with ${String(code)}`),
    (thrown: unknown) => `${program} is needed for this archive: ${errorMessage(thrown)}`,
  )
  // A program that stops reading early says why by its end.
  child.stdin.on('error', () => undefined)
  packed.on('error', () => child.kill('SIGKILL'))
  packed.pipe(child.stdin)
  try {
    yield* child.stdout
    const complaint = await closed
    if (complaint !== undefined) throw archiveFault(complaint)
  } finally {
    packed.destroy()
    child.kill('SIGKILL')
  }
}

/** Programs that the agent runs get nothing of its own environment. */
export const MINIMAL_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }
