import { createReadStream } from 'node:fs'
import type { SnapshotLine } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import { CommandFailure } from '../failure.ts'
import { invalidLine, snapshotLines } from './read-snapshot.ts'

/** What a whole snapshot holds. */
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

/** What is wrong with a row of a snapshot that reaches to this index; undefined: nothing. */
type RowCheck = (
  line: Extract<SnapshotLine, { readonly Row: unknown }>,
  upTo: number,
) => string | undefined

/** Reads a snapshot to its end; fails when it is not whole, or when the check finds something. */
export async function inspectSnapshot(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
  check: RowCheck = () => undefined,
): Promise<SnapshotContent> {
  const tables = new Map<string, number>()
  let head = { Version: 0, Time: '' }
  let reach = { Index: 0, Rows: 0 }
  let Blobs = 0
  let Checksum = ''
  let number = 0
  for await (const line of snapshotLines(chunks, name)) {
    number += 1
    if ('Snapshot' in line) head = { Version: line.Version, Time: line.Time }
    else if ('Blob' in line) Blobs += 1
    else if ('Index' in line) reach = { Index: line.Index, Rows: line.Rows }
    else if ('Row' in line) {
      const [table, key] = line.Row
      const problem = check(line, reach.Index)
      if (problem !== undefined)
        throw invalidLine(name, number, `row ${JSON.stringify(key)} of table ${table}: ${problem}`)
      tables.set(table, (tables.get(table) ?? 0) + 1)
    } else ({ Checksum } = line)
  }
  return { ...head, ...reach, Blobs, Checksum, Tables: Object.fromEntries(tables) }
}

/** The bytes of a file; what cannot be read is told with its reason. */
export async function* fileChunks(path: string): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of createReadStream(path)) {
      // A stream without an encoding gives Buffers.
      yield chunk as Buffer
    }
  } catch (thrown) {
    if (thrown instanceof CommandFailure) throw thrown
    const reason = errorMessage(thrown)
      .replace(/^[A-Z]+: /, '')
      .replace(/, \w+( '.*)?$/, '')
    throw new CommandFailure(`${path} cannot be read: ${reason}.`)
  }
}
