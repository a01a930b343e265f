import { v2 } from '@reeve/contract'
import { Fault } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  UNSEEN,
  type GovernanceRefusal,
  type RunLogPartRow,
  type RunPhaseRow,
} from '../../../model/index.ts'
import { isOpenPhase, put, runLogPartKey, type Change } from '../../../state/index.ts'
import type { GovernanceContext } from '../../context.ts'
import { phaseId } from './phase-rows.ts'

/** A log URL is issued anew with each read of its plan or apply. */
const LOG_URL_MS = 24 * 60 * 60 * 1_000

/** The first and the last byte of a log tell clients that it has begun, and that it is complete. */
const BEGIN = Uint8Array.of(0x02)
const END = Uint8Array.of(0x03)

interface LogAddress {
  readonly runId: string
  readonly phase: RunPhaseRow['phase']
  readonly expiresMs: number
}

type LogContext = Pick<GovernanceContext, 'store' | 'sealer' | 'clock'>

/**
 * The last part of the URL of a log. Clients fetch logs without a token and replace the whole
 * query, so the path itself is the permission: sealed, so that nobody can make one, and nothing has
 * to be stored for a read.
 */
export function logKey(
  { sealer, clock }: LogContext,
  { runId, phase }: Pick<LogAddress, 'runId' | 'phase'>,
): string {
  const address: LogAddress = { runId, phase, expiresMs: clock.nowMs() + LOG_URL_MS }
  return Buffer.from(sealer.seal(JSON.stringify(address)), 'base64').toString('base64url')
}

/** The phase whose log a key opens. */
export function findLog(
  { sealer, clock }: LogContext,
  key: string,
): Result<string, GovernanceRefusal> {
  try {
    const sealed = Buffer.from(key, 'base64url').toString('base64')
    // Only `logKey` seals addresses of this form.
    const address = JSON.parse(sealer.open(sealed)) as Partial<LogAddress>
    const { runId, phase, expiresMs = 0 } = address
    if (runId === undefined || phase === undefined || expiresMs <= clock.nowMs()) return err(UNSEEN)
    return ok(phaseId(runId, phase))
  } catch (thrown) {
    if (thrown instanceof Fault || thrown instanceof SyntaxError) return err(UNSEEN)
    throw thrown
  }
}

/** How many bytes the log has now, with its marks. */
export function logLength({ store }: Pick<LogContext, 'store'>, id: string): number {
  const phase = store.tables.run_phases.find(id)
  if (phase === undefined) return 0
  return BEGIN.length + phase.logBytes + (isOpenPhase(phase) ? 0 : END.length)
}

export interface LogRange {
  readonly offset: number
  readonly limit: number
}

/** Bytes of a log from an offset on; none at its end, and none before its phase has begun. */
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
  const take = (from: number, bytes: Uint8Array): void => {
    const piece = bytes.subarray(Math.max(0, offset - from), Math.max(0, end - from))
    if (piece.length > 0) pieces.push(piece)
  }
  take(0, BEGIN)
  for (const part of partsIn(context, id, { from: offset - 1, to: end - 1 }))
    take(part.offset + BEGIN.length, await readPart(context, part))
  if (!isOpenPhase(phase)) take(BEGIN.length + phase.logBytes, END)
  return Buffer.concat(pieces)
}

async function readPart({ store, sealer }: LogContext, { id }: RunLogPartRow): Promise<Uint8Array> {
  await store.settled()
  const sealed = await store.readBlob(runLogPartKey(id))
  if (sealed === undefined) throw new Fault('log-gone', 'a part of the log is not stored any more')
  return sealer.openBytes(sealed)
}

/** The parts that have bytes between two offsets, in order. */
function partsIn(
  { store }: LogContext,
  id: string,
  { from, to }: { readonly from: number; readonly to: number },
): readonly RunLogPartRow[] {
  const { run_log_parts: parts } = store.tables
  const keys = [...parts.keysIn('phase', id)].toSorted(compareText)
  // Keys end in the offset: rows outside of the range are not decoded.
  const next = keys.findIndex((key) => offsetIn(key) > Math.max(0, from))
  const first = Math.max(0, (next < 0 ? keys.length : next) - 1)
  const found: RunLogPartRow[] = []
  for (const key of keys.slice(first)) {
    if (offsetIn(key) >= to) break
    found.push(parts.get(key))
  }
  return found
}

const OFFSET_DIGITS = 12

function offsetIn(partId: string): number {
  return Number(partId.slice(-OFFSET_DIGITS))
}

export interface AppendedLog {
  readonly phase: RunPhaseRow
  readonly changes: readonly Change[]
  readonly blobs: readonly { readonly key: string; readonly bytes: Uint8Array }[]
}

/**
 * The log with these bytes at its end. A runner that does not know whether a write arrived repeats
 * it: bytes before the end are there already.
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
    blobs: [{ key: runLogPartKey(id), bytes: sealer.sealBytes(added) }],
  })
}
