import { createReadStream } from 'node:fs'
import type { SnapshotLine } from '@reeve/contract'
import { errorMessage } from '@reeve/kit/fault.ts'
import { CommandError } from '../failure.ts'
import { invalidLine, readSnapshotLines } from './read-snapshot.ts'

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
