import type { EntryId } from '../../cluster/index.ts'
import type { EnginePosition } from '../../state/index.ts'
import type { Lane } from './lanes.ts'
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

export interface FoundPosition {
  /** Whoever leads in this term may write. */
  readonly term: number
  /** The last write to the checkpoint in this term. */
  readonly step: number
  readonly position: EnginePosition
  /** The entry that was asked for; undefined when the log does not hold it. */
  readonly entry: EntryId | undefined
  /** Changes when a loss of commits is recorded or accepted. */
  readonly losses: string
}

/**
 * Where the log and its checkpoint stand, and which entry is at `index`, or at its end, as of one
 * moment.
 */
export async function readPosition(
  lane: Lane,
  name: string,
  index?: number,
): Promise<FoundPosition> {
  const [found] = await lane.query<PositionRow>({
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
  if (found === undefined) throw corruptFault(name, 'its head or its checkpoint is missing')
  const lastIndex = Number(found.last_index)
  const firstIndex = Number(found.first_index)
  const upTo = Number(found.up_to)
  if (firstIndex > upTo + 1 || upTo > lastIndex)
    throw corruptFault(
      name,
      `its log goes from ${firstIndex} to ${lastIndex} and its checkpoint to ${upTo}`,
    )
  const tableIndexes = toTableIndexes(found.table_indexes)
  if (tableIndexes === undefined)
    throw corruptFault(name, 'the mark of its checkpoint is unreadable')
  const position = { lastIndex, firstIndex, checkpoint: { upTo, tableIndexes } }
  const { entry_index: at, entry_term: entryTerm, entry_nonce: nonce, losses } = found
  const entry =
    entryTerm === null || nonce === null
      ? undefined
      : { index: Number(at), term: Number(entryTerm), nonce }
  return { term: Number(found.term), step: Number(found.step), position, entry, losses }
}

function toTableIndexes(text: string): Record<string, number> | undefined {
  const indexes: Record<string, number> = {}
  const parsed = parse(text)
  if (typeof parsed !== 'object' || parsed === null) return undefined
  for (const [table, index] of Object.entries(parsed)) {
    if (typeof index !== 'number') return undefined
    indexes[table] = index
  }
  return indexes
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return undefined
  }
}
