import { v2 } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  NOT_FOUND,
  type GovernanceRefusal,
  type RunLogPartRow,
  type RunPhaseRow,
} from '../../../model/index.ts'
import { isOpenPhase, put, runLogPartBlobKey, type Change } from '../../../state/index.ts'
import type { GovernanceContext } from '../../context.ts'
import { phaseId } from '../run-changes.ts'

/** Lifetime of a log URL. Each read of the plan or apply issues another one. */
const LOG_URL_MS = 24 * 60 * 60 * 1_000

/** First and last byte of a log, which tell clients that it has begun and that it is complete. */
const LOG_START = Uint8Array.of(0x02)
const LOG_END = Uint8Array.of(0x03)

interface LogReference {
  readonly runId: string
  readonly phase: RunPhaseRow['phase']
  readonly expiresMs: number
}

type LogContext = Pick<GovernanceContext, 'store' | 'sealer' | 'clock'>

/**
 * Returns the last segment of a log URL. Clients fetch logs without a token and replace the whole
 * query, so the path itself is the credential: encrypted, so that it cannot be forged and a read
 * stores nothing.
 */
export function createLogKey(
  { sealer, clock }: LogContext,
  { runId, phase }: Pick<LogReference, 'runId' | 'phase'>,
): string {
  const address: LogReference = { runId, phase, expiresMs: clock.nowMs() + LOG_URL_MS }
  return Buffer.from(sealer.seal(JSON.stringify(address)), 'base64').toString('base64url')
}

/** Returns the phase of a log key. */
export function openLogKey(
  { sealer, clock }: LogContext,
  key: string,
): Result<string, GovernanceRefusal> {
  try {
    const sealed = Buffer.from(key, 'base64url').toString('base64')
    // Only `createLogKey` encrypts values of this form.
    const address = JSON.parse(sealer.open(sealed)) as Partial<LogReference>
    const { runId, phase, expiresMs = 0 } = address
    if (runId === undefined || phase === undefined || expiresMs <= clock.nowMs())
      return err(NOT_FOUND)
    return ok(phaseId(runId, phase))
  } catch (thrown) {
    if (thrown instanceof Fault || thrown instanceof SyntaxError) return err(NOT_FOUND)
    throw thrown
  }
}

/** Returns the current length of the log in bytes, including the marks. */
export function logLength({ store }: Pick<LogContext, 'store'>, id: string): number {
  const phase = store.tables.run_phases.find(id)
  if (phase === undefined) return 0
  return LOG_START.length + phase.logBytes + (isOpenPhase(phase) ? 0 : LOG_END.length)
}

interface LogRange {
  readonly offset: number
  readonly limit: number
}

/** Reads bytes of a log from an offset; none at its end or before its phase has started. */
export async function readLog(
  context: LogContext,
  id: string,
  { offset, limit }: LogRange,
): Promise<Uint8Array> {
  const length = logLength(context, id)
  const end = Math.min(length, offset + Math.min(limit, v2.RUN_LOG_READ_BYTES_MAX))
  if (offset >= end) return new Uint8Array(0)
  const pieces: Uint8Array[] = []
  const phase = context.store.tables.run_phases.get(id)
  const addPiece = (from: number, bytes: Uint8Array): void => {
    const piece = bytes.subarray(Math.max(0, offset - from), Math.max(0, end - from))
    if (piece.length > 0) pieces.push(piece)
  }
  addPiece(0, LOG_START)
  for (const part of partsInRange(context, id, { from: offset - 1, to: end - 1 }))
    addPiece(part.offset + LOG_START.length, await readPart(context, part))
  if (!isOpenPhase(phase)) addPiece(LOG_START.length + phase.logBytes, LOG_END)
  return Buffer.concat(pieces)
}

async function readPart({ store, sealer }: LogContext, { id }: RunLogPartRow): Promise<Uint8Array> {
  await store.whenDurable()
  const sealed = await store.readBlob(runLogPartBlobKey(id))
  if (sealed === undefined) throw new Fault('log-gone', 'a part of the log is not stored any more')
  return sealer.openBytes(sealed)
}

/** Returns the parts between two offsets, in order. */
function partsInRange(
  { store }: LogContext,
  id: string,
  { from, to }: { readonly from: number; readonly to: number },
): readonly RunLogPartRow[] {
  const { run_log_parts: parts } = store.tables
  const keys = [...parts.keysByIndex('phase', id)].toSorted(compareText)
  // Keys end with the offset, so rows outside the range are not decoded.
  const nextIndex = keys.findIndex((key) => partOffset(key) > Math.max(0, from))
  const first = Math.max(0, (nextIndex < 0 ? keys.length : nextIndex) - 1)
  const found: RunLogPartRow[] = []
  for (const key of keys.slice(first)) {
    if (partOffset(key) >= to) break
    found.push(parts.get(key))
  }
  return found
}

const OFFSET_DIGITS = 12

function partOffset(partId: string): number {
  return Number(partId.slice(-OFFSET_DIGITS))
}

export interface AppendedLog {
  readonly phase: RunPhaseRow
  readonly changes: readonly Change[]
  readonly blobs: readonly { readonly key: string; readonly bytes: Uint8Array }[]
}

/**
 * Returns the changes that append to a log. A runner repeats a write whose response was lost: bytes
 * before the end are already stored.
 */
export function appendLog(
  { sealer }: Pick<LogContext, 'sealer'>,
  phase: RunPhaseRow,
  { offset, bytes }: { readonly offset: number; readonly bytes: Uint8Array },
): Result<AppendedLog, GovernanceRefusal> {
  if (offset > phase.logBytes) {
    const detail = `The log has ${phase.logBytes} bytes: bytes from ${offset} on do not follow`
    return err({ code: 'conflict', detail })
  }
  const added = bytes.subarray(phase.logBytes - offset)
  if (added.length === 0) return ok({ phase, changes: [], blobs: [] })
  const logBytes = phase.logBytes + added.length
  if (logBytes > v2.RUN_LOG_BYTES_MAX)
    return err({ code: 'too-large', bytesMax: v2.RUN_LOG_BYTES_MAX })
  const { id: ownerId, organizationId, workspaceId, runId } = phase
  const id = `${ownerId}/${String(phase.logBytes).padStart(OFFSET_DIGITS, '0')}`
  const part: RunLogPartRow = {
    id,
    organizationId,
    workspaceId,
    runId,
    phaseId: ownerId,
    offset: phase.logBytes,
    bytes: added.length,
  }
  const next = { ...phase, logBytes }
  return ok({
    phase: next,
    changes: [put('run_phases', next), put('run_log_parts', part)],
    blobs: [{ key: runLogPartBlobKey(id), bytes: sealer.sealBytes(added) }],
  })
}
