/** What is read at first for each line that is wanted; more follows when lines are longer. */
const LINE_BYTES = 160
/** A tail is held in memory: longer ones are cut. */
const TAIL_BYTES_MAX = 64 * 1024 * 1024
const GROWTH = 4
const NEWLINE = 0x0a

/** The last bytes of something, at most as many as are asked for. */
export type ReadTail = (bytes: number) => Promise<Uint8Array>

/** The last lines of something that can be read from its end only by counting bytes. */
export async function lastLines(lines: number, readTail: ReadTail): Promise<Uint8Array> {
  if (lines === 0) return new Uint8Array()
  for (let bytes = Math.min(lines * LINE_BYTES, TAIL_BYTES_MAX); ; bytes *= GROWTH) {
    const tail = await readTail(Math.min(bytes, TAIL_BYTES_MAX))
    const start = startOfLine(tail, lines)
    if (start > 0) return tail.subarray(start)
    if (tail.length < bytes || bytes >= TAIL_BYTES_MAX) return tail
  }
}

/** Where the last lines begin; 0 when there are not more of them. */
function startOfLine(bytes: Uint8Array, lines: number): number {
  // The newline that ends the last line begins no other one.
  let at = bytes.length - 1
  for (let count = 0; count < lines; count++) {
    at = at <= 0 ? -1 : bytes.lastIndexOf(NEWLINE, at - 1)
    if (at < 0) return 0
  }
  return at + 1
}
