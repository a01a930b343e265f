import { createHash } from 'node:crypto'
import type { SnapshotLine, SnapshotRowName } from '@reeve/contract'
import { isBase64 } from '@reeve/kit/base64.ts'
import { CommandFailure } from '../failure.ts'

/** What this program writes and reads. */
const VERSION = 1
/** A blob is at most some megabytes, and base64 makes it a third longer. */
const LINE_BYTES_MAX = 256 * 1024 * 1024
const NEWLINE = 0x0a

/** No state has had as many commits: at a million a second it takes eight years. */
const INDEX_MAX = 2 ** 48
const BLOB_NAME_CHARS_MAX = 1_024

/**
 * The lines of a snapshot, in the order of the contract. Fails at its end, and so after lines were
 * given, when it is not whole: whoever acts on them has read it to the end once before.
 */
export async function* snapshotLines(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<SnapshotLine> {
  const hash = createHash('sha256')
  const order = new LineOrder()
  let number = 0
  for await (const bytes of linesOf(chunks, name)) {
    number += 1
    if (order.isOver) throw damaged(name, 'something follows its end')
    const line = lineIn(bytes)
    if (line === undefined) throw invalidLine(name, number, 'it is not a line of a snapshot')
    if (number === 1) checkHead(line, name)
    const problem = order.problemOf(line)
    if (problem !== undefined) throw invalidLine(name, number, problem)
    if ('Checksum' in line) {
      const checksum = `sha256:${hash.digest('hex')}`
      if (checksum !== line.Checksum) throw damaged(name, 'its checksum is another one')
    } else hash.update(bytes)
    yield line
  }
  if (!order.isOver) throw damaged(name, number > 0 ? 'its end is missing' : 'it is empty')
}

/** Says that a line cannot be used, and why. */
export function invalidLine(name: string, number: number, why: string): CommandFailure {
  return new CommandFailure(`${name} is not a valid snapshot: line ${number}: ${why}.`)
}

/** Head, blobs, reach, rows, end: each where it belongs, and as many as are told of. */
class LineOrder {
  #isBegun = false
  #index: number | undefined
  #rowsTold = 0
  #rows = 0
  readonly #blobs = new Set<string>()
  isOver = false

  problemOf(line: SnapshotLine): string | undefined {
    if ('Snapshot' in line) {
      if (this.#isBegun) return 'the snapshot begins a second time'
      this.#isBegun = true
    } else if ('Blob' in line) return this.#blobProblem(line)
    else if ('Index' in line) return this.#reachProblem(line)
    else if ('Row' in line) return this.#rowProblem(line.Row)
    else {
      if (this.#rows !== this.#rowsTold)
        return `the snapshot has ${this.#rows} rows instead of ${this.#rowsTold}`
      if (this.#blobs.size !== line.Blobs)
        return `the snapshot has ${this.#blobs.size} blobs instead of ${line.Blobs}`
      this.isOver = true
    }
    return undefined
  }

  #blobProblem({ Blob: blob, Data }: LineWith<'Blob'>): string | undefined {
    if (this.#index !== undefined) return 'a blob follows the index'
    if (blob === '' || blob.length > BLOB_NAME_CHARS_MAX)
      return `the name of a blob has ${blob.length} characters; 1 to ${BLOB_NAME_CHARS_MAX} are allowed`
    if (this.#blobs.has(blob)) return `the blob ${JSON.stringify(blob)} is there twice`
    this.#blobs.add(blob)
    return isBase64(Data) ? undefined : `the blob ${JSON.stringify(blob)} is not base64`
  }

  #reachProblem({ Index, Rows }: LineWith<'Index'>): string | undefined {
    if (this.#index !== undefined) return 'the index is there twice'
    if (!isCount(Index) || Index > INDEX_MAX)
      return `the index ${Index} is not an integer from 0 to ${INDEX_MAX}`
    if (!isCount(Rows)) return 'the number of rows is not an integer from 0'
    this.#index = Index
    this.#rowsTold = Rows
    return undefined
  }

  #rowProblem([table, key, ...indexes]: SnapshotRowName): string | undefined {
    if (this.#index === undefined) return 'a row comes before the index'
    this.#rows += 1
    const { length } = indexes
    if (typeof table !== 'string' || typeof key !== 'string' || length !== 2)
      return 'a row needs a table, a key, a create index and a modify index'
    const isRight = indexes.every((index) => isCount(index) && index <= (this.#index ?? 0))
    if (isRight) return undefined
    const told = indexes.map((index) => JSON.stringify(index)).join(' and ')
    const row = `${JSON.stringify(key)} of table ${JSON.stringify(table)}`
    return `the indexes ${told} of row ${row} are not integers from 0 to ${this.#index}`
  }
}

type LineWith<Member extends string> = Extract<SnapshotLine, Readonly<Record<Member, unknown>>>

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0
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

/** Undefined when it is none. */
function lineIn(bytes: Buffer): SnapshotLine | undefined {
  try {
    const line: unknown = JSON.parse(bytes.toString('utf8'))
    return isLine(line) ? line : undefined
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
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
