import { createHash } from 'node:crypto'
import type { LogEntry, StorageEngine } from '../../src/state/index.ts'
import { joinStoredRow } from '../../src/state/commit.ts'

/**
 * What the killed writer writes, as a function of the index alone, so that a reader can say what
 * the storage must hold at any index. Each commit moves money between accounts: it writes two rows,
 * and the sum of all stays the same unless half of a commit is lost.
 */
export interface Model {
  readonly index: number
  readonly balances: ReadonlyMap<string, number>
  /** For each blob the index of the commit that last put it; undefined when that deleted it. */
  readonly blobs: ReadonlyMap<string, number | undefined>
}

export const ACCOUNTS = 40
const OPENING_BALANCE = 1_000
const BLOBS = 12
export const TOTAL = ACCOUNTS * OPENING_BALANCE

export function modelAtStart(): Model {
  const accounts = Array.from({ length: ACCOUNTS }, (_, at) => accountName(at))
  return {
    index: 0,
    balances: new Map(accounts.map((name) => [name, OPENING_BALANCE])),
    blobs: new Map(),
  }
}

export interface Transfer {
  readonly entry: LogEntry
  readonly rows: readonly AccountRow[]
  readonly after: Model
}

export interface AccountRow {
  readonly account: string
  readonly balance: number
}

export function nextTransfer(model: Model): Transfer {
  const index = model.index + 1
  const draw = digest(`transfer ${index}`)
  const from = accountName(draw.readUInt8(0))
  const to = accountName(draw.readUInt8(1))
  const balances = new Map(model.balances)
  const amount = draw.readUInt8(2)
  balances.set(from, (balances.get(from) ?? 0) - amount)
  balances.set(to, (balances.get(to) ?? 0) + amount)
  const rows = [from, to].map((account) => ({ account, balance: balances.get(account) ?? 0 }))
  const blobs = blobsOf(index, draw)
  const marks = new Map(model.blobs)
  for (const blob of blobs) marks.set(blob.key, blob.bytes === undefined ? undefined : index)
  const text = JSON.stringify({ index, rows, padding: draw.toString('hex').repeat(10) })
  return {
    entry: { index, timeMs: index, text, blobs },
    rows,
    after: { index, balances, blobs: marks },
  }
}

export function blobBytes(index: number): Uint8Array {
  const draw = digest(`blob ${index}`)
  return Buffer.alloc(draw.readUInt16LE(0) >> 1, draw)
}

export function rowText(row: AccountRow): string {
  return JSON.stringify(row)
}

/** The rows as a restart finds them: the checkpoint, then every later entry on top. */
export async function restoredBalances(engine: StorageEngine): Promise<Map<string, number>> {
  const balances = new Map(modelAtStart().balances)
  for await (const page of engine.load()) {
    for (const row of page) setBalance(balances, JSON.parse(joinStoredRow(row)))
  }
  for await (const { text } of engine.read(engine.initialPosition.checkpoint.upTo + 1)) {
    const { rows } = JSON.parse(text)
    for (const row of rows) setBalance(balances, row)
  }
  return balances
}

export function blobNames(): string[] {
  return Array.from({ length: BLOBS }, (_, at) => blobName(at))
}

function setBalance(balances: Map<string, number>, row: AccountRow): void {
  balances.set(row.account, row.balance)
}

function blobsOf(index: number, draw: Buffer): LogEntry['blobs'] {
  if (draw.readUInt8(3) > 60) return []
  const put = blobName(draw.readUInt8(4))
  const gone = blobName(draw.readUInt8(5))
  const change = { key: put, bytes: blobBytes(index) }
  return gone === put ? [change] : [change, { key: gone, bytes: undefined }]
}

function accountName(draw: number): string {
  return `account-${draw % ACCOUNTS}`
}

function blobName(draw: number): string {
  return `blob-${draw % BLOBS}`
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
