import type { StateVersionRow } from '../../model/index.ts'

/** A state to be written. */
export interface StateWrite {
  readonly serial: number
  readonly md5: string
  readonly lineage: string | null
  readonly force: boolean
}

export type WriteDecision =
  | { readonly kind: 'write' }
  /** The same state again, after a lost response. */
  | { readonly kind: 'repeat' }
  | { readonly kind: 'refuse'; readonly detail: string }

/**
 * Decides whether a state may replace the current one. A lower serial is accepted from users: the
 * command-line tools push an older state without a flag in the request. It is rejected from runs,
 * because another attempt has written a newer state.
 */
export function decideWrite(
  latest: Pick<StateVersionRow, 'id' | 'serial' | 'md5' | 'lineage'> | undefined,
  write: StateWrite,
  { isRun }: { readonly isRun: boolean },
): WriteDecision {
  if (latest === undefined) return { kind: 'write' }
  const { serial, md5, lineage, force } = write
  const isSameLineage = lineage === null || latest.lineage === null || lineage === latest.lineage
  if (isSameLineage && serial === latest.serial && md5 === latest.md5) return { kind: 'repeat' }
  if (force && !isRun) return { kind: 'write' }
  if (!isSameLineage)
    return rejectWrite(
      `The lineage ${lineage} is not that of the current state, ${latest.lineage}: ` +
        'the state belongs to other infrastructure; push it with force to replace the current one',
    )
  if (serial === latest.serial)
    return rejectWrite(
      `The current state ${latest.id} has the serial ${serial} and another content; ` +
        'read it again before you write',
    )
  if (isRun && serial < latest.serial)
    return rejectWrite(
      `The serial ${serial} is lower than that of the current state, ${latest.serial}`,
    )
  return { kind: 'write' }
}

function rejectWrite(detail: string): WriteDecision {
  return { kind: 'refuse', detail }
}
