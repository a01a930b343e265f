import type { ByteFrame } from '@reeve/sdk'

export type WriteBytes = (bytes: Uint8Array) => Promise<void>

/** Copies as fast as the reader of the output takes it. */
export async function copyBytes(chunks: AsyncIterable<Uint8Array>, write: WriteBytes) {
  for await (const bytes of chunks) await write(bytes)
}

/** Copies what is followed; what happens to the file is told. */
export async function copyFrames(
  frames: AsyncIterable<ByteFrame>,
  write: WriteBytes,
  tell: (what: string) => void,
): Promise<void> {
  for await (const { bytes, File, FileEvent } of frames) {
    if (FileEvent !== undefined) tell(`${File ?? 'the file'}: ${FileEvent}`)
    if (bytes.length > 0) await write(bytes)
  }
}

/** All bytes of frames that end. */
export async function gatheredFrames(frames: AsyncIterable<ByteFrame>): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  for await (const { bytes } of frames) parts.push(bytes)
  return Buffer.concat(parts)
}
