import type { ByteFrame } from '@reeve/sdk'

export type WriteBytes = (bytes: Uint8Array) => Promise<void>

/** Copies the chunks. Awaiting each write applies backpressure to the source. */
export async function copyBytes(chunks: AsyncIterable<Uint8Array>, write: WriteBytes) {
  for await (const bytes of chunks) await write(bytes)
}

/** Copies the bytes of a followed file and reports file events such as truncation. */
export async function copyFrames(
  frames: AsyncIterable<ByteFrame>,
  write: WriteBytes,
  onFileEvent: (what: string) => void,
): Promise<void> {
  for await (const { bytes, File, FileEvent } of frames) {
    if (FileEvent !== undefined) onFileEvent(`${File ?? 'the file'}: ${FileEvent}`)
    if (bytes.length > 0) await write(bytes)
  }
}

/** Concatenates the bytes of a finite stream of frames. */
export async function collectFrames(frames: AsyncIterable<ByteFrame>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const { bytes } of frames) parts.push(bytes)
  return Buffer.concat(parts)
}
