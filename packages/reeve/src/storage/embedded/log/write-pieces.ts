import type { FileHandle } from 'node:fs/promises'

/** What is needed of an open file. */
export type PieceTarget = Pick<FileHandle, 'writev'>

/**
 * Writes pieces one behind the other, in one call as a rule: each call waits for a turn of a server
 * that may be busy. Returns where they end.
 */
export async function writePieces(
  target: PieceTarget,
  pieces: readonly Buffer[],
  position: number,
): Promise<number> {
  let end = position
  for (let rest = pieces; rest.length > 0;) {
    const { bytesWritten } = await target.writev(rest, end)
    end += bytesWritten
    rest = behind(rest, bytesWritten)
  }
  return end
}

/** What is left of pieces of which some bytes were written. */
function behind(pieces: readonly Buffer[], bytes: number): readonly Buffer[] {
  let written = bytes
  const first = pieces.findIndex(({ length }) => {
    if (length > written) return true
    written -= length
    return false
  })
  const [piece, ...others] = first < 0 ? [] : pieces.slice(first)
  return piece === undefined ? [] : [piece.subarray(written), ...others]
}
