import type { AllocationStub } from '@reeve/contract'
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

/** Bytes to read first per requested line; more are read if lines are longer. */
const LINE_BYTES = 160
/** Maximum size of a tail, because it is held in memory. */
const TAIL_BYTES_MAX = 64 * 1024 * 1024
const GROWTH = 4
const NEWLINE = 0x0a

/** Reads the last bytes of a source, at most the given number. */
type ReadLastBytes = (bytes: number) => Promise<Uint8Array>

/** Returns the last lines of a source that is read backwards by byte count. */
export async function lastLines(lines: number, readTail: ReadLastBytes): Promise<Uint8Array> {
  if (lines === 0) return new Uint8Array()
  for (let bytes = Math.min(lines * LINE_BYTES, TAIL_BYTES_MAX); ; bytes *= GROWTH) {
    const tail = await readTail(Math.min(bytes, TAIL_BYTES_MAX))
    const start = tailOffset(tail, lines)
    if (start > 0) return tail.subarray(start)
    if (tail.length < bytes || bytes >= TAIL_BYTES_MAX) return tail
  }
}

/** Returns the offset of the last lines; 0 if there are no more lines than requested. */
function tailOffset(bytes: Uint8Array, lines: number): number {
  // The newline at the end of the last line starts no further line.
  let at = bytes.length - 1
  for (let count = 0; count < lines; count++) {
    at = at <= 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1)
    if (at < 0) return 0
  }
  return at + 1
}

/** Returns the tasks that have started and can therefore have output. */
export function startedTasks({
  TaskStates,
}: Pick<AllocationStub, 'TaskStates'>): readonly string[] {
  const states = Object.entries(TaskStates ?? {})
  return states.filter(([, { StartedAt }]) => Date.parse(StartedAt) > 0).map(([name]) => name)
}
