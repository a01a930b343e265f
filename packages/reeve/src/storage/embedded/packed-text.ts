import { constants, zstdCompress, zstdDecompressSync } from 'node:zlib'
import type { Scratch } from './scratch.ts'
import { escapeText, unescapeText } from './text-escape.ts'

/**
 * Log entries from this length on are packed. A plan or the reports of many nodes are a thousand
 * rows that say nearly the same: packed they are a twentieth, and the database would otherwise copy
 * and merge all of it several times. What one request writes is shorter, and not worth the wait.
 */
export const PACKED_CHARS_MIN = 32 * 1024
/** Room for what comes out, so that one trip to another thread does: by default it is 16 KiB. */
const OUTPUT_BYTES = 128 * 1024

/** The text in few characters. Works on another thread. */
export async function packText(text: string, scratch: Scratch): Promise<string> {
  const escaped = escapeText(text)
  const bytes = scratch.take(Buffer.byteLength(escaped))
  bytes.write(escaped, 'utf8')
  const packed = await new Promise<Buffer>((resolve, reject) => {
    const options = {
      chunkSize: OUTPUT_BYTES,
      params: { [constants.ZSTD_c_compressionLevel]: 1 },
    }
    zstdCompress(bytes, options, (error, result) =>
      error === null ? resolve(result) : reject(error),
    )
  })
  // Values are texts: as bytes they would have to be read apart from the others.
  return packed.toString('base64')
}

export function unpackText(packed: string): string {
  return unescapeText(zstdDecompressSync(Buffer.from(packed, 'base64')).toString())
}
