import type { EntryId } from '../../cluster/index.ts'
import type { EnginePosition } from '../../state/index.ts'
import type { QueryRunner } from './lanes.ts'
import { corruptFault } from './postgres-faults.ts'

type PositionRow = {
  readonly term: string
  readonly step: string
  readonly last_index: string
  readonly first_index: string
  readonly up_to: string
  readonly table_indexes: string
  readonly entry_index: string
  readonly entry_term: string | null
  readonly entry_nonce: string | null
  readonly losses: string
}

export interface TermPosition {
  /** The leader of this term may write. */
  readonly term: number
  /** Number of the last checkpoint write in this term. */
  readonly step: number
  readonly position: EnginePosition
  /** The requested entry; undefined if the log does not contain it. */
  readonly entry: EntryId | undefined
  /** Changes whenever a loss of commits is recorded or accepted. */
  readonly lossesVersion: string
}

/**
 * Reads the position of log and checkpoint and the entry at `index`, or at the end of the log, in
 * one statement.
 */
export async function readPosition(
  runner: QueryRunner,
  databaseName: string,
  index?: number,
): Promise<TermPosition> {
  const [row] = await runner.query<PositionRow>({
    text: `SELECT head.term, keep.step, head.last_index, keep.first_index, keep.up_to,
        keep.table_indexes, coalesce($1::bigint, head.last_index) AS entry_index,
        entry.term AS entry_term, entry.nonce AS entry_nonce,
        (SELECT count(*) || '/' || count(accepted_at) FROM reeve_losses) AS losses
      FROM reeve_head AS head
        JOIN reeve_checkpoint AS keep ON keep.id = head.id
        LEFT JOIN reeve_log AS entry
          ON entry.commit_index = coalesce($1::bigint, head.last_index)
      WHERE head.id = 1`,
    values: [index ?? null],
  })
  if (row === undefined) throw corruptFault(databaseName, 'its head or its checkpoint is missing')
  const lastIndex = Number(row.last_index)
  const firstIndex = Number(row.first_index)
  const upTo = Number(row.up_to)
  if (firstIndex > upTo + 1 || upTo > lastIndex)
    throw corruptFault(
      databaseName,
      `its log goes from ${firstIndex} to ${lastIndex} and its checkpoint to ${upTo}`,
    )
  const tableIndexes = toTableIndexes(row.table_indexes)
  if (tableIndexes === undefined)
    throw corruptFault(databaseName, 'the mark of its checkpoint is unreadable')
  const position = { lastIndex, firstIndex, checkpoint: { upTo, tableIndexes } }
  const { entry_index: entryIndex, entry_term: entryTerm, entry_nonce: nonce, losses } = row
  const entry =
    entryTerm === null || nonce === null
      ? undefined
      : { index: Number(entryIndex), term: Number(entryTerm), nonce }
  return { term: Number(row.term), step: Number(row.step), position, entry, lossesVersion: losses }
}

function toTableIndexes(text: string): Record<string, number> | undefined {
  const indexes: Record<string, number> = {}
  const parsed = parseJson(text)
  if (typeof parsed !== 'object' || parsed === null) return undefined
  for (const [table, index] of Object.entries(parsed)) {
    if (typeof index !== 'number') return undefined
    indexes[table] = index
  }
  return indexes
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return undefined
  }
}
