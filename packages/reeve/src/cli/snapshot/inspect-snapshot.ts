import { createReadStream } from 'node:fs'
import { messageOf } from '../../kit/fault.ts'
import { CommandFailure } from '../failure.ts'
import { snapshotLines } from './read-snapshot.ts'

/** What a whole snapshot holds. */
export interface SnapshotContent {
  readonly Version: number
  readonly Time: string
  readonly Index: number
  readonly Rows: number
  readonly Blobs: number
  /** Rows of each table. */
  readonly Tables: Readonly<Record<string, number>>
}

/** Reads a snapshot to its end; fails when it is not whole. */
export async function inspectSnapshot(
  chunks: AsyncIterable<Uint8Array>,
  name: string,
): Promise<SnapshotContent> {
  const tables = new Map<string, number>()
  let head = { Version: 0, Time: '' }
  let reach = { Index: 0, Rows: 0 }
  let Blobs = 0
  let rows = 0
  for await (const line of snapshotLines(chunks, name)) {
    if ('Snapshot' in line) head = { Version: line.Version, Time: line.Time }
    else if ('Blob' in line) Blobs += 1
    else if ('Index' in line) reach = { Index: line.Index, Rows: line.Rows }
    else if ('Row' in line) {
      rows += 1
      const [table] = line.Row
      tables.set(table, (tables.get(table) ?? 0) + 1)
    }
  }
  if (rows !== reach.Rows) throw new CommandFailure(`${name} does not hold the rows it tells of.`)
  return { ...head, ...reach, Blobs, Tables: Object.fromEntries(tables) }
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
    const reason = messageOf(thrown)
      .replace(/^[A-Z]+: /, '')
      .replace(/, \w+( '.*)?$/, '')
    throw new CommandFailure(`${path} cannot be read: ${reason}.`)
  }
}
