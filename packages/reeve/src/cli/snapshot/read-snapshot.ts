import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { SnapshotLine, SnapshotRowName } from '@reeve/contract'
import { isBase64 } from '@reeve/kit/base64.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { CommandError } from '../errors.ts'

/** The snapshot version that this program supports. */
const VERSION = 1
/** A blob is at most some megabytes, and base64 makes it a third longer. */
const LINE_BYTES_MAX = 256 * 1024 * 1024
const NEWLINE = 0x0a

/**
 * Upper limit of commit indexes: at a million commits per second it is reached after eight years.
 */
const INDEX_MAX = 2 ** 48
const BLOB_NAME_CHARS_MAX = 1_024

/**
 * Yields the lines of a snapshot in the order of the contract. An incomplete snapshot is detected
 * only at its end, so that callers read it once before they act on the lines.
 */
export async function* readSnapshotLines(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<SnapshotLine> {
  const hash = createHash('sha256')
  const order = new LineValidator()
  let number = 0
  for await (const bytes of splitLines(chunks, name)) {
    number += 1
    if (order.isComplete) throw incompleteSnapshot(name, 'something follows its end')
    const line = parseLine(bytes)
    if (line === undefined) throw invalidLine(name, number, 'it is not a line of a snapshot')
    if (number === 1) checkHead(line, name)
    const problem = order.validate(line)
    if (problem !== undefined) throw invalidLine(name, number, problem)
    if ('Checksum' in line) {
      const checksum = `sha256:${hash.digest('hex')}`
      if (checksum !== line.Checksum) throw incompleteSnapshot(name, 'its checksum is another one')
    } else hash.update(bytes)
    yield line
  }
  if (!order.isComplete)
    throw incompleteSnapshot(name, number > 0 ? 'its end is missing' : 'it is empty')
}

/** Creates the error for an invalid line. */
function invalidLine(name: string, number: number, why: string): CommandError {
  return new CommandError(`${name} is not a valid snapshot: line ${number}: ${why}.`)
}

/** Validates the order of lines (head, blobs, index, rows, end) and their announced counts. */
class LineValidator {
  #hasHead = false
  #index: number | undefined
  #rowsExpected = 0
  #rows = 0
  readonly #blobs = new Set<string>()
  isComplete = false

  validate(line: SnapshotLine): string | undefined {
    if ('Snapshot' in line) {
      if (this.#hasHead) return 'the snapshot begins a second time'
      this.#hasHead = true
    } else if ('Blob' in line) return this.#blobProblem(line)
    else if ('Index' in line) return this.#indexProblem(line)
    else if ('Row' in line) return this.#rowProblem(line.Row)
    else {
      if (this.#rows !== this.#rowsExpected)
        return `the snapshot has ${this.#rows} rows instead of ${this.#rowsExpected}`
      if (this.#blobs.size !== line.Blobs)
        return `the snapshot has ${this.#blobs.size} blobs instead of ${line.Blobs}`
      this.isComplete = true
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

  #indexProblem({ Index, Rows }: LineWith<'Index'>): string | undefined {
    if (this.#index !== undefined) return 'the index is there twice'
    if (!isCount(Index) || Index > INDEX_MAX)
      return `the index ${Index} is not an integer from 0 to ${INDEX_MAX}`
    if (!isCount(Rows)) return 'the number of rows is not an integer from 0'
    this.#index = Index
    this.#rowsExpected = Rows
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

/** Splits chunks into lines, which include their newlines. */
async function* splitLines(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): AsyncGenerator<Buffer> {
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
    if (length > LINE_BYTES_MAX) throw incompleteSnapshot(name, 'a line does not end')
    if (part.length > 0) rest.push(part)
  }
  if (rest.length > 0) yield Buffer.concat(rest)
}

/** Parses a line; undefined if it is invalid. */
function parseLine(bytes: Buffer): SnapshotLine | undefined {
  try {
    const line: unknown = JSON.parse(bytes.toString('utf8'))
    return isLine(line) ? line : undefined
  } catch (thrown) {
    if (thrown instanceof SyntaxError) return undefined
    throw thrown
  }
}

/** Whether the value is a snapshot line: each kind has a distinctive member. */
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
    throw incompleteSnapshot(name, 'it does not begin as one')
  }
  if (line.Version !== VERSION) {
    throw new CommandError(
      `${name} is a snapshot of version ${line.Version}; this is ${VERSION}.`,
      {
        hint: 'Use the version of Reeve that saved it.',
      },
    )
  }
}

function incompleteSnapshot(name: string, why: string): CommandError {
  return new CommandError(`${name} is not a whole snapshot: ${why}.`)
}

/** Summary of a complete snapshot. */
export interface SnapshotContent {
  readonly Version: number
  readonly Time: string
  readonly Index: number
  readonly Rows: number
  readonly Blobs: number
  readonly Checksum: string
  /** Rows of each table. */
  readonly Tables: Readonly<Record<string, number>>
}

/** Validates a row of a snapshot that reaches to an index; returns the problem, if any. */
type RowValidator = (
  line: Extract<SnapshotLine, { readonly Row: unknown }>,
  upTo: number,
) => string | undefined

/** Reads and validates a complete snapshot. Throws if it is incomplete or a row is invalid. */
export async function inspectSnapshot(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  check: RowValidator = () => undefined,
): Promise<SnapshotContent> {
  const tables = new Map<string, number>()
  let head = { Version: 0, Time: '' }
  let totals = { Index: 0, Rows: 0 }
  let Blobs = 0
  let Checksum = ''
  let number = 0
  for await (const line of readSnapshotLines(chunks, name)) {
    number += 1
    if ('Snapshot' in line) head = { Version: line.Version, Time: line.Time }
    else if ('Blob' in line) Blobs += 1
    else if ('Index' in line) totals = { Index: line.Index, Rows: line.Rows }
    else if ('Row' in line) {
      const [table, key] = line.Row
      const problem = check(line, totals.Index)
      if (problem !== undefined)
        throw invalidLine(name, number, `row ${JSON.stringify(key)} of table ${table}: ${problem}`)
      tables.set(table, (tables.get(table) ?? 0) + 1)
    } else ({ Checksum } = line)
  }
  return { ...head, ...totals, Blobs, Checksum, Tables: Object.fromEntries(tables) }
}

/** Reads a file in chunks. Read errors become command errors. */
export async function* readFileChunks(path: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(path)) {
      // Proof: a stream without an encoding yields Buffers.
      yield chunk as Buffer
    }
  } catch (thrown) {
    if (thrown instanceof CommandError) throw thrown
    const reason = errorMessage(thrown)
      .replace(/^[A-Z]+: /, '')
      .replace(/, \w+( '.*)?$/, '')
    throw new CommandError(`${path} cannot be read: ${reason}.`)
  }
}
