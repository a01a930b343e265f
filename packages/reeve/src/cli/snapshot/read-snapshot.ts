import { createHash } from 'node:crypto'
import type { SnapshotLine } from '@reeve/contract'
import { CommandFailure } from '../failure.ts'

/** What this program writes and reads. */
const VERSION = 1
/** A blob is at most some megabytes, and base64 makes it a third longer. */
const LINE_BYTES_MAX = 256 * 1024 * 1024
const NEWLINE = 0x0a

/**
 * The lines of a snapshot. Fails at its end, and so after lines were given, when it is not whole:
 * whoever acts on them has read it to the end once before.
 */
export async function* snapshotLines(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<SnapshotLine> {
  const hash = createHash('sha256')
  let isBegun = false
  let isOver = false
  for await (const bytes of linesOf(chunks, name)) {
    if (isOver) throw damaged(name, 'something follows its end')
    const line = lineIn(bytes, name)
    if (!isBegun) checkHead(line, name)
    isBegun = true
    if ('Checksum' in line) {
      const checksum = `sha256:${hash.digest('hex')}`
      if (checksum !== line.Checksum) throw damaged(name, 'its checksum is another one')
      isOver = true
    } else hash.update(bytes)
    yield line
  }
  if (!isOver) throw damaged(name, isBegun ? 'its end is missing' : 'it is empty')
}

/** With their newlines. */
async function* linesOf(chunks: AsyncIterable<Uint8Array>, name: string): AsyncGenerator<Buffer> {
  let rest: Buffer[] = []
  let length = 0
  for await (const chunk of chunks) {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start)
      if (end < 0) break
      yield Buffer.concat([...rest, chunk.subarray(start, end + 1)])
      rest = []
      length = 0
      start = end + 1
    }
    const part = Buffer.from(chunk.subarray(start))
    length += part.length
    if (length > LINE_BYTES_MAX) throw damaged(name, 'a line does not end')
    if (part.length > 0) rest.push(part)
  }
  if (rest.length > 0) yield Buffer.concat(rest)
}

function lineIn(bytes: Buffer, name: string): SnapshotLine {
  try {
    const line: unknown = JSON.parse(bytes.toString('utf8'))
    if (isLine(line)) return line
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
  }
  throw damaged(name, 'a line of it is not of a snapshot')
}

/** Every kind of line has a member that no other has. */
function isLine(line: unknown): line is SnapshotLine {
  if (typeof line !== 'object' || line === null) return false
  const has = (member: string, type: string): boolean => typeof Reflect.get(line, member) === type
  if (Array.isArray(Reflect.get(line, 'Row'))) return has('Body', 'string')
  return (
    (has('Snapshot', 'string') && has('Version', 'number')) ||
    (has('Blob', 'string') && has('Data', 'string')) ||
    (has('Index', 'number') && has('Rows', 'number')) ||
    (has('Checksum', 'string') && has('Blobs', 'number'))
  )
}

function checkHead(line: SnapshotLine, name: string): void {
  if (!('Snapshot' in line) || line.Snapshot !== 'reeve') {
    throw damaged(name, 'it does not begin as one')
  }
  if (line.Version !== VERSION) {
    throw new CommandFailure(
      `${name} is a snapshot of version ${line.Version}; this is ${VERSION}.`,
      {
        hint: 'Use the version of Reeve that saved it.',
      },
    )
  }
}

function damaged(name: string, why: string): CommandFailure {
  return new CommandFailure(`${name} is not a whole snapshot: ${why}.`)
}
