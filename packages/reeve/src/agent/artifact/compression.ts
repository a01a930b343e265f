import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { errorMessage } from '@reeve/kit/fault.ts'
import { archiveFault } from './unpack.ts'

type Compression = 'none' | 'gz' | 'bz2' | 'xz' | 'zst'

/** Format of a download; undefined for a plain file. */
export interface ArchiveFormat {
  readonly archive: 'tar' | 'zip' | undefined
  readonly compression: Compression
  /** File name extension: `.tar.gz`. */
  readonly extension: string
}

/** Longer endings first. */
const ARCHIVE_FORMATS: readonly ArchiveFormat[] = [
  { extension: '.tar.gz', archive: 'tar', compression: 'gz' },
  { extension: '.tgz', archive: 'tar', compression: 'gz' },
  { extension: '.tar.bz2', archive: 'tar', compression: 'bz2' },
  { extension: '.tbz2', archive: 'tar', compression: 'bz2' },
  { extension: '.tar.xz', archive: 'tar', compression: 'xz' },
  { extension: '.txz', archive: 'tar', compression: 'xz' },
  { extension: '.tar.zst', archive: 'tar', compression: 'zst' },
  { extension: '.tzst', archive: 'tar', compression: 'zst' },
  { extension: '.tar', archive: 'tar', compression: 'none' },
  { extension: '.zip', archive: 'zip', compression: 'none' },
  { extension: '.gz', archive: undefined, compression: 'gz' },
  { extension: '.bz2', archive: undefined, compression: 'bz2' },
  { extension: '.xz', archive: undefined, compression: 'xz' },
  { extension: '.zst', archive: undefined, compression: 'zst' },
]

/**
 * Format by the option `archive` (`false`, `0` and similar keep the file packed), otherwise by the
 * file name.
 */
export function archiveFormatOf(
  name: string,
  option: string | undefined,
): ArchiveFormat | undefined {
  if (option === undefined || option === '' || /^(true|1)$/i.test(option)) {
    return ARCHIVE_FORMATS.find(({ extension }) => name.toLowerCase().endsWith(extension))
  }
  if (/^(false|0|f)$/i.test(option)) return undefined
  const format = ARCHIVE_FORMATS.find(({ extension }) => extension === `.${option.toLowerCase()}`)
  if (format !== undefined) return format
  throw archiveFault(`${JSON.stringify(option)} is not a kind of archive that is known here`)
}

/** Decompressed bytes. Ending the iteration early stops the decompression. */
export async function* decompress(
  compressed: Readable,
  compression: Compression,
): AsyncGenerator<Uint8Array> {
  switch (compression) {
    case 'none':
      yield* compressed
      return
    case 'gz':
      yield* decompressWith(compressed, createGunzip())
      return
    case 'zst':
      yield* decompressWith(compressed, createZstdDecompress())
      return
    case 'bz2':
      yield* decompressWithProgram(compressed, 'bzip2')
      return
    case 'xz':
      yield* decompressWithProgram(compressed, 'xz')
      return
  }
}

async function* decompressWith(
  packed: Readable,
  decompressor: NodeJS.ReadWriteStream & { destroy(error?: Error): void },
): AsyncGenerator<Uint8Array> {
  packed.on('error', (error) => decompressor.destroy(error))
  try {
    for await (const piece of packed.pipe(decompressor)) {
      // Without an encoding every piece is bytes.
      if (typeof piece !== 'string') yield piece
    }
  } catch (thrown) {
    throw archiveFault(`the download cannot be unpacked: ${errorMessage(thrown)}`)
  } finally {
    packed.destroy()
    decompressor.destroy()
  }
}

/** Formats that the runtime does not support are decompressed by a program of the machine. */
async function* decompressWithProgram(
  packed: Readable,
  program: string,
): AsyncGenerator<Uint8Array> {
  const child = spawn(program, ['-dc'], { stdio: ['pipe', 'pipe', 'ignore'], env: MINIMAL_ENV })
  const closed = once(child, 'close').then(
    ([code]) => (code === 0 ? undefined : `${program} ended with ${String(code)}`),
    (thrown: unknown) => `${program} is needed for this archive: ${errorMessage(thrown)}`,
  )
  // A program that stops reading early reports that by its exit code.
  child.stdin.on('error', () => undefined)
  packed.on('error', () => child.kill('SIGKILL'))
  packed.pipe(child.stdin)
  try {
    yield* child.stdout
    const problem = await closed
    if (problem !== undefined) throw archiveFault(problem)
  } finally {
    packed.destroy()
    child.kill('SIGKILL')
  }
}

/** Programs that the agent runs get none of its environment. */
export const MINIMAL_ENV = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' }
