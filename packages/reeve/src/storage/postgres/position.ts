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
}

export interface FoundPosition {
  /** Whoever leads in this term may write. */
  readonly term: number
  /** The last write to the checkpoint in this term. */
  readonly step: number
  readonly position: EnginePosition
}

/** Where the log and its checkpoint stand, as of one moment. */
export async function readPosition(lane: Lane, name: string): Promise<FoundPosition> {
  const [found] = await lane.query<PositionRow>({
    text: `SELECT head.term, keep.step, head.last_index, keep.first_index, keep.up_to,
        keep.table_indexes
      FROM reeve_head AS head, reeve_checkpoint AS keep WHERE head.id = 1 AND keep.id = 1`,
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
  return { term: Number(found.term), step: Number(found.step), position }
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
